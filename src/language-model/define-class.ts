import { abortable } from '#base';
import { availabilityOf, type Availability } from './availability.ts';
import { Conversation, toV1Messages } from './conversation.ts';
import { toCoreOptions, toCreateOptions, type CreateOptions } from './create-options.ts';
import { isActive, isPolicyAllowed } from './document-policy.ts';
import { reportTo, type ReportShare } from './download-monitor.ts';
import { invalidState, notAllowed, notSupported, promptException, quotaExceeded } from './exceptions.ts';
import { Session, type SessionParts } from './session.ts';
import type { V1Client } from './v1-client.ts';

/** Marks the class as not the browser's own: its prompts come from `/v1` (src/page/page-services/language-model.ts). */
const OF_LOCALTEXT = Symbol.for('localtext.LanguageModel');

/** The class that a page sees. */
export interface LanguageModelClass {
  readonly prototype: Session;
  availability(options?: unknown): Promise<Availability>;
  create(options?: unknown): Promise<Session>;
}

export const defineLanguageModel = (client: V1Client): LanguageModelClass =>
  class LanguageModel extends Session {
    static readonly [OF_LOCALTEXT] = true;

    static async availability(options?: unknown): Promise<Availability> {
      if (!isActive()) throw invalidState();
      const core = toCoreOptions(options);
      return isPolicyAllowed() ? availabilityOf(client, core) : 'unavailable';
    }

    static async create(options?: unknown): Promise<LanguageModel> {
      if (!isActive()) throw invalidState();
      const created = toCreateOptions(options);
      const { monitor, signal = new AbortController().signal } = created;
      signal.throwIfAborted();
      if (!isPolicyAllowed()) throw notAllowed('The Permissions Policy does not allow `language-model`.');
      const report = reportTo(monitor, signal);
      const prepared = prepare(client, created, report, signal);
      return new LanguageModel({ ...(await abortable(prepared, signal)), signal });
    }
  };

/** Loads the model, and counts the session's first messages. @throws DOMException */
async function prepare(
  client: V1Client,
  { initialPrompts, ...options }: CreateOptions,
  report: ReportShare,
  signal: AbortSignal,
): Promise<SessionParts> {
  await load(client, options, report, signal);
  try {
    const { contextLength: contextWindow } = await client.describe();
    const parts = { client, options, contextWindow };
    const messages = await toV1Messages(initialPrompts);
    if (messages.length === 0) return { ...parts, conversation: new Conversation([], 0) };
    const usage = await client.count({ messages, temperature: 0, top_p: 1 }, signal);
    if (usage > contextWindow) throw quotaExceeded(usage, contextWindow);
    return { ...parts, conversation: new Conversation(messages, usage) };
  } catch (error) {
    throw promptException(error);
  }
}

async function load(
  client: V1Client,
  options: Omit<CreateOptions, 'initialPrompts'>,
  report: ReportShare,
  signal: AbortSignal,
): Promise<void> {
  const availability = await availabilityOf(client, options);
  if (availability === 'unavailable')
    throw notSupported(`No model ${client.model} takes this here. GET /v1/models lists what there is.`);
  if (availability === 'downloadable' && navigator.userActivation?.hasBeenActive === false)
    throw notAllowed('The model must be downloaded: call `create()` after a click or a key.');
  report(0);
  let isDownloaded = availability === 'available';
  /** Bytes that an earlier download has stored. */
  let storedBytes: number | null = null;
  try {
    await client.load(signal, ({ phase, loadedBytes, totalBytes }) => {
      if (phase !== 'download') isDownloaded = true;
      else if (totalBytes > (storedBytes ??= loadedBytes))
        report((loadedBytes - storedBytes) / (totalBytes - storedBytes));
    });
  } catch (error) {
    const { message } = error as Error;
    throw new DOMException(message, isDownloaded ? 'OperationError' : 'NetworkError');
  }
  report(1);
}
