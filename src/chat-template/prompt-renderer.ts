import { requestError, ServiceError, abortable, createDeferred, Mutex, withTimeout } from '#base';
import type { ChatJob, ChatMessage } from '#jobs';
import { RestartableHelper } from '#engine-kit';
import { ClientText } from './client-text.ts';
import type { Opened, PromptFormat, templateWorker } from './template-worker.ts';
import type { ChatOpening } from './think-first.ts';
import { thinkTags } from './think-tags.ts';

/** Time limit for parsing the template. */
const LOAD_TIMEOUT_MS = 20_000;
const RENDER_TIMEOUT_MS = 10_000;
const NOT_PARSED = { fault: `it was not parsed within ${LOAD_TIMEOUT_MS / 1000} s` };

/** The worker of a `PromptRenderer`. It starts while the model is loaded, whose format is not known yet. */
export class TemplateWorker {
  readonly #format = createDeferred<PromptFormat>();
  readonly helper = new RestartableHelper<typeof templateWorker>('template', async (template) => {
    const format = await this.#format.promise;
    const parsing = template.load(format).then((fault) => ({ fault }));
    const { fault } = (await withTimeout(parsing, LOAD_TIMEOUT_MS)) ?? NOT_PARSED;
    if (fault !== null) throw templateError(fault);
  });

  constructor() {
    this.helper.start().catch(() => undefined);
  }

  load(format: PromptFormat): RestartableHelper<typeof templateWorker> {
    this.#format.resolve(format);
    return this.helper;
  }
}

/** Renders a model's prompts in a worker, which is terminated if the template exceeds a time limit. */
export class PromptRenderer {
  readonly #format: PromptFormat;
  /** Prompts render one after another, as each has its own deadline. */
  readonly #mutex = new Mutex();
  readonly #helper: RestartableHelper<typeof templateWorker>;
  readonly #clientText: ClientText;

  constructor(format: PromptFormat, worker = new TemplateWorker()) {
    this.#format = format;
    this.#clientText = new ClientText(format.tokens.reserved);
    this.#helper = worker.load(format);
  }

  /** Text that is one token anywhere in a prompt; null if none is known. */
  get specialText(): string | null {
    return this.#format.tokens.eos;
  }

  /**
   * Appends a text that the template did not write to a prompt.
   * @param allowed special tokens that the text may contain
   */
  append(prompt: string, text: string, allowed?: readonly string[]): string {
    return this.#clientText.append(prompt, text, allowed);
  }

  /** Whether the model has a chat template. Otherwise it only continues text (`/v1/completions`). */
  get chats(): boolean {
    return this.#format.template !== null || this.#format.tokens.chatMl === true;
  }

  get thinks(): boolean {
    return thinkTags(this.#format.template ?? '') !== null;
  }

  /**
   * Renders the prompt of a job.
   * @param marker text that stands for an image in the prompt
   * @throws ServiceError 400 if the model's template rejects the conversation or exceeds its bounds
   */
  async open(job: ChatJob, marker: string | null, signal: AbortSignal): Promise<ChatOpening> {
    return this.#mutex.run(async () => {
      await abortable(this.#helper.start(), signal);
      // An abort must not end the worker, or the template would have to be parsed again.
      const opened = await this.#helper.call(
        (template): Promise<Opened> => template.open(withoutImageUrls(job), marker),
        { timeoutMs: RENDER_TIMEOUT_MS, toError: renderError },
      );
      if (opened.error) throw new ServiceError(opened.error);
      return opened.opening;
    }, signal);
  }

  end(): void {
    this.#helper.end();
  }
}

const renderError = (cause: unknown): ServiceError =>
  templateError(
    cause === null
      ? `it takes longer than ${RENDER_TIMEOUT_MS / 1000} s`
      : 'its worker has ended, as for a lack of memory',
  );

const templateError = (why: string): ServiceError => {
  const message = `This model's chat template does not take these messages: ${why.slice(0, 300)}.`;
  return requestError(400, message, null, 'messages');
};

/** Removes image URLs, which may contain the image and which the template does not need. */
function withoutImageUrls(job: ChatJob): ChatJob {
  if (!('messages' in job.input)) return job;
  const messages = job.input.messages.map((message): ChatMessage =>
    message.role === 'user' && message.images
      ? { ...message, images: message.images.map((image) => ({ ...image, url: '' })) }
      : message,
  );
  return { ...job, input: { messages } };
}

const unusable = (why: string): string => `has a chat template that cannot be used: ${why}`;

/** Why a model's template cannot be used, as a phrase that follows its name; undefined if it renders a plain message. */
export async function templateFault(template: string): Promise<string | undefined> {
  const tokens = { bos: null, eos: null, reserved: [] };
  const renderer = new PromptRenderer({ template, tokens, addsBos: false });
  const content = 'Hello';
  const job: ChatJob = {
    kind: 'chat',
    model: '',
    input: { messages: [{ role: 'user', content }] },
    sampling: { temperature: 1, topP: 1 },
  };
  try {
    const { prompt } = await renderer.open(job, null, new AbortController().signal);
    return prompt.includes(content) ? undefined : unusable('it does not show the messages');
  } catch (error) {
    if (!(error instanceof ServiceError) || error.wire.status !== 400) throw error;
    return unusable(error.message.split(': ').slice(1).join(': '));
  } finally {
    renderer.end();
  }
}
