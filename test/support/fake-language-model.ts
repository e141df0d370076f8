/** What the fake browser's model is to do. Each test that installs one removes it. */
export interface FakeLanguageModel {
  state?: 'unavailable' | 'downloadable' | 'downloading' | 'available';
  /** Whether sessions take images. */
  images?: boolean;
  /** Whether sessions are of a browser before `samplingMode`. */
  withoutModes?: boolean;
  /** Names of 2025 (`inputUsage`, `inputQuota`, `measureInputUsage`) instead of those of the specification. */
  formerNames?: boolean;
  contextWindow?: number;
  /** Name of the DOMException that `create()` or a prompt rejects with. */
  createFails?: string;
  promptFails?: string;
  /** The promise never settles. */
  hangs?: 'create' | 'measure' | 'prompt';
  /** The browser destroys a session after so many chunks, the first time alone. */
  destroyAfter?: number;
  /** Time between two chunks. */
  chunkMs?: number;
  reply?: string;
}

export interface FakeCalls {
  created: { initialPrompts?: { role: string; content: unknown }[]; samplingMode?: string }[];
  /** Each image by its size: `4 × 3`. */
  prompts: { input: unknown; responseConstraint?: unknown }[];
  destroyed: number;
  aborted: number;
}

/**
 * Puts a fake of the Prompt API into this realm, after its specification
 * (https://webmachinelearning.github.io/prompt-api/). A word is a token, each message takes one more, and an image 50. Self-contained, so
 * that it can be injected into a page.
 */
export function installLanguageModel(options: FakeLanguageModel = {}): FakeCalls {
  const calls: FakeCalls = { created: [], prompts: [], destroyed: 0, aborted: 0 };
  let state = options.state ?? 'available';
  let { destroyAfter = Infinity } = options;
  const contextWindow = options.contextWindow ?? 1000;
  type Part = { type: 'text'; value: string } | { type: 'image'; value: ImageBitmap };
  type Message = { role: string; content: string | Part[]; prefix?: boolean };
  type Input = string | Message[];
  type Schema = Record<string, unknown>;
  type Given = { signal?: AbortSignal; responseConstraint?: Schema };

  const partsOf = (input: Input): Part[] => {
    const messages = typeof input === 'string' ? [{ content: input }] : input;
    return messages.flatMap(({ content }) =>
      typeof content === 'string' ? [{ type: 'text' as const, value: content }] : content,
    );
  };
  const wordsOf = (part: Part): number =>
    part.type === 'image' ? 50 : part.value.split(/\s+/).filter(Boolean).length;
  const count = (input: Input): number =>
    partsOf(input).reduce((sum, part) => sum + wordsOf(part), typeof input === 'string' ? 1 : input.length);
  const recorded = (input: Input): unknown =>
    typeof input === 'string'
      ? input
      : input.map((message) =>
          typeof message.content === 'string'
            ? message
            : {
                ...message,
                content: message.content.map((part) =>
                  part.type === 'text'
                    ? part
                    : { type: 'image', value: `${part.value.width} × ${part.value.height}` },
                ),
              },
        );
  /** A value of this schema, as far as it is made of these keywords. */
  const sample = ({ type, items, anyOf, properties, ...schema }: Schema): unknown => {
    if ('const' in schema) return schema['const'];
    if (anyOf) return sample((anyOf as Schema[])[0] ?? {});
    if (type === 'array') return [sample(items as Schema)];
    if (type === 'string') return 'Oslo';
    const entries = Object.entries(
      (properties as Record<string, Schema> | undefined) ?? { city: { type: 'string' } },
    );
    return Object.fromEntries(entries.map(([key, value]) => [key, sample(value)]));
  };
  const failure = (name: string): DOMException => new DOMException(`the fake fails with ${name}`, name);
  const never = (signal?: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  const overflow = (requested: number): DOMException =>
    Object.assign(failure('QuotaExceededError'), { requested, quota: contextWindow });

  class Session extends EventTarget {
    #used: number;
    #gone = new AbortController();
    #images: boolean;

    constructor(used: number, images: boolean) {
      super();
      this.#used = used;
      this.#images = images;
      const usage = { get: () => this.#used };
      const window = { get: () => contextWindow };
      const measure = { value: (input: Input, given?: Given) => this.#measure(input, given) };
      Object.defineProperties(
        this,
        options.formerNames
          ? { inputUsage: usage, inputQuota: window, measureInputUsage: measure }
          : { contextUsage: usage, contextWindow: window, measureContextUsage: measure },
      );
    }

    async #measure(input: Input, { signal, responseConstraint }: Given = {}): Promise<number> {
      signal?.throwIfAborted();
      if (options.hangs === 'measure') await never(signal);
      // The schema is told to the model.
      return count(input) + (responseConstraint ? count(JSON.stringify(responseConstraint)) : 0);
    }

    promptStreaming(input: Input, { signal, responseConstraint }: Given = {}): ReadableStream<string> {
      if (!this.#images && partsOf(input).some(({ type }) => type === 'image'))
        throw failure('NotSupportedError');
      calls.prompts.push({ input: recorded(input), ...(responseConstraint && { responseConstraint }) });
      const gone = this.#gone.signal;
      signal?.addEventListener('abort', () => calls.aborted++);
      const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
      const begun = (messages as Message[]).find(({ prefix }) => prefix)?.content ?? '';
      const whole = responseConstraint
        ? JSON.stringify(sample(responseConstraint))
        : (options.reply ?? 'one two three four five');
      const chunks = whole.slice(begun.length).match(/\S+\s*/g) ?? [];
      let at = 0;
      this.#used += count(input);
      return new ReadableStream<string>(
        {
          pull: async (controller) => {
            if (options.hangs === 'prompt') await never(signal);
            if (options.promptFails) throw failure(options.promptFails);
            if (responseConstraint && 'patternProperties' in responseConstraint)
              throw failure('NotSupportedError');
            if (at > 0 || options.chunkMs)
              await new Promise((resolve) => setTimeout(resolve, options.chunkMs ?? 1));
            if (at === destroyAfter) {
              destroyAfter = Infinity;
              this.destroy();
            }
            signal?.throwIfAborted();
            if (gone.aborted) throw failure('AbortError');
            const chunk = chunks[at++];
            if (chunk === undefined) controller.close();
            else {
              this.#used++;
              controller.enqueue(chunk);
            }
          },
        },
        { highWaterMark: 0 },
      );
    }

    destroy(): void {
      if (this.#gone.signal.aborted) return;
      this.#gone.abort();
      calls.destroyed++;
    }
  }

  type Expected = { expectedInputs?: { type: string }[] };
  const forImages = ({ expectedInputs = [] }: Expected = {}): boolean =>
    expectedInputs.some(({ type }) => type === 'image');
  const refusesImages = (given?: Expected): boolean => forImages(given) && !options.images;

  const MODES = new Set(['most-predictable', 'predictable', 'balanced', 'creative', 'most-creative']);
  if (!options.withoutModes)
    Object.defineProperty(Session.prototype, 'samplingMode', { get: () => 'balanced', configurable: true });
  const api = {
    prototype: Session.prototype,
    availability: async (given?: Expected) => (refusesImages(given) ? 'unavailable' : state),
    async create(
      given: Expected & {
        initialPrompts?: Message[];
        signal?: AbortSignal;
        samplingMode?: string;
        monitor?: (monitor: EventTarget) => void;
      },
    ) {
      const { signal, initialPrompts = [], samplingMode, monitor } = given;
      signal?.throwIfAborted();
      if (initialPrompts.some(({ role }, index) => role === 'system' && index > 0))
        throw new TypeError('The system prompt must be the first.');
      if (samplingMode !== undefined && !MODES.has(samplingMode)) throw new TypeError(samplingMode);
      if (state === 'unavailable' || refusesImages(given)) throw failure('NotSupportedError');
      if (options.createFails) throw failure(options.createFails);
      if (options.hangs === 'create') await never(signal);
      if (state !== 'available') {
        const activation = (navigator as { userActivation?: { hasBeenActive: boolean } }).userActivation;
        if (activation?.hasBeenActive === false) throw failure('NotAllowedError');
        state = 'downloading';
        const target = new EventTarget();
        monitor?.(target);
        for (const loaded of [0, 0.5, 1])
          target.dispatchEvent(Object.assign(new Event('downloadprogress'), { loaded, total: 1 }));
        state = 'available';
      }
      const used = initialPrompts.length === 0 ? 0 : count(initialPrompts);
      if (used > contextWindow) throw overflow(used);
      calls.created.push({
        ...(initialPrompts.length > 0 && { initialPrompts: recorded(initialPrompts) as Message[] }),
        ...(samplingMode !== undefined && { samplingMode }),
      });
      return new Session(used, forImages(given));
    },
  };
  Object.assign(globalThis, { LanguageModel: api, languageModelCalls: calls });
  return calls;
}
