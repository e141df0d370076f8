/// <reference types="dom-chromium-ai" />
import type { PageModelAvailability, PageModelEvent, PageModelRequest } from '#protocol';
import { expected, languageModel } from './language-model.ts';

type Api = typeof LanguageModel;

export async function availability(languages: readonly string[]): Promise<PageModelAvailability> {
  const api = languageModel();
  if (!api) return { state: 'absent', samples: false, images: false };
  const state = await api.availability(expected(languages));
  const images = state === 'available' && (await takesImages(api, languages));
  return { state, samples: takesSampling(api), images };
}

/** @param gone aborted when the engine worker is gone */
export async function runPrompt(
  request: PageModelRequest,
  port: MessagePort,
  gone: AbortSignal,
): Promise<void> {
  const abort = new AbortController();
  port.onmessage = () => abort.abort();
  const signal = AbortSignal.any([abort.signal, gone]);
  const send = (event: PageModelEvent): void => port.postMessage(event);
  let session: LanguageModel | null = null;
  const destroy = (): void => session?.destroy();
  try {
    const api = languageModel();
    if (!api) throw new DOMException('The Prompt API is gone.', 'NotSupportedError');
    const { languages, images, initialPrompts, samplingMode } = request;
    session = await api.create({
      ...expected(languages, images),
      initialPrompts: initialPrompts as LanguageModelMessage[],
      ...(samplingMode && { samplingMode }),
      signal,
    });
    signal.addEventListener('abort', destroy);
    signal.throwIfAborted();
    await answer(session, request, signal, send);
  } catch (error) {
    send(failure(error));
  } finally {
    signal.removeEventListener('abort', destroy);
    destroy();
  }
}

/** Whether sessions have a mode. Others would ignore it, and pages cannot set a temperature. */
const takesSampling = (api: Api): boolean => 'samplingMode' in api.prototype;

/** Whether sessions take images. Browsers without image support may throw instead of answering. */
const takesImages = (api: Api, languages: readonly string[]): Promise<boolean> =>
  api.availability(expected(languages, true)).then(
    (state) => state === 'available',
    () => false,
  );

async function answer(
  session: LanguageModel,
  { prompt, responseConstraint, maxTokens = Infinity, countOnly }: PageModelRequest,
  signal: AbortSignal,
  send: (event: PageModelEvent) => void,
): Promise<void> {
  const input = prompt as LanguageModelPrompt;
  const options = { signal, ...(responseConstraint && { responseConstraint }) };
  const contextLength = session.contextWindow ?? session.inputQuota;
  const promptTokens = usage(session) + (await measure(session, input, options));
  send({ type: 'counted', promptTokens, contextLength });
  // The API itself would drop the oldest messages.
  if (countOnly || promptTokens >= contextLength) return;
  const overhead = maxTokens === Infinity ? 0 : await measure(session, '', { signal }).catch(() => 0);
  const reader = session.promptStreaming(input, options).getReader();
  let completionTokens = 0;
  for (;;) {
    const { done, value: text } = await reader.read();
    if (done) break;
    // A chunk is usually one token, so tokens are counted only if there is a limit.
    const counted = maxTokens === Infinity ? 1 : (await measure(session, text, { signal })) - overhead;
    const tokens = Math.max(1, counted);
    const remaining = maxTokens - completionTokens;
    const share = Math.min(1, remaining / tokens);
    send({
      type: 'delta',
      text: share < 1 ? text.slice(0, Math.floor(text.length * share)) : text,
      tokens: Math.min(tokens, remaining),
    });
    completionTokens += Math.min(tokens, remaining);
    if (completionTokens < maxTokens) continue;
    send({ type: 'done', finishReason: 'length', completionTokens });
    return;
  }
  const all = usage(session) - promptTokens;
  send({ type: 'done', finishReason: 'stop', completionTokens: all > 0 ? all : completionTokens });
}

/** The specification has renamed it; browsers of 2025 have the former name. */
const usage = (session: LanguageModel): number => session.contextUsage ?? session.inputUsage;

const measure = (
  session: LanguageModel,
  input: LanguageModelPrompt,
  options: LanguageModelPromptOptions,
): Promise<number> =>
  typeof session.measureContextUsage === 'function'
    ? session.measureContextUsage(input, options)
    : session.measureInputUsage(input, options);

function failure(thrown: unknown): PageModelEvent {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message } = error;
  const { requested, quota } = error as { requested?: unknown; quota?: unknown };
  const counts = typeof requested === 'number' && typeof quota === 'number' ? { requested, quota } : null;
  return { type: 'failed', name, message, ...(counts && { counts }) };
}
