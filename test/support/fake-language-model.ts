/** What the fake browser's model is to do. Each test that installs one removes it. */
export interface FakeLanguageModel {
  state?: 'unavailable' | 'downloadable' | 'downloading' | 'available';
  /** Whether pages are shown `params()`, and sessions take `temperature` and `topK`. */
  params?: boolean;
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
  /** Between two chunks. */
  chunkMs?: number;
  reply?: string;
}

export interface FakeCalls {
  created: { initialPrompts?: { role: string; content: string }[]; temperature?: number; topK?: number }[];
  prompts: { input: unknown; responseConstraint?: unknown }[];
  destroyed: number;
  aborted: number;
}

/**
 * Puts a fake of the Prompt API into this realm, after its specification
 * (https://webmachinelearning.github.io/prompt-api/). A word is a token, and each message takes one more. Self-contained, so
 * that it can be injected into a page.
 */
export function installLanguageModel(options: FakeLanguageModel = {}): FakeCalls {
  const calls: FakeCalls = { created: [], prompts: [], destroyed: 0, aborted: 0 };
  let state = options.state ?? 'available';
  let { destroyAfter = Infinity } = options;
  const contextWindow = options.contextWindow ?? 1000;
  type Message = { role: string; content: string; prefix?: boolean };
  type Input = string | Message[];
  type Given = { signal?: AbortSignal; responseConstraint?: Record<string, unknown> };

  const count = (input: Input): number => {
    const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const words = messages.flatMap(({ content }) => content.split(/\s+/).filter(Boolean));
    return messages.length + words.length;
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

    constructor(used: number) {
      super();
      this.#used = used;
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
      calls.prompts.push({ input, ...(responseConstraint && { responseConstraint }) });
      const gone = this.#gone.signal;
      signal?.addEventListener('abort', () => calls.aborted++);
      const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
      const begun = messages.find(({ prefix }) => prefix)?.content ?? '';
      const whole = responseConstraint ? '{"city": "Oslo"}' : (options.reply ?? 'one two three four five');
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

  const api = {
    availability: async () => state,
    async create(given: {
      initialPrompts?: Message[];
      signal?: AbortSignal;
      temperature?: number;
      topK?: number;
      monitor?: (monitor: EventTarget) => void;
    }) {
      const { signal, initialPrompts = [], temperature, topK, monitor } = given;
      signal?.throwIfAborted();
      if (initialPrompts.some(({ role }, index) => role === 'system' && index > 0))
        throw new TypeError('The system prompt must be the first.');
      if ((temperature === undefined) !== (topK === undefined)) throw failure('NotSupportedError');
      if (state === 'unavailable') throw failure('NotSupportedError');
      if (options.createFails) throw failure(options.createFails);
      if (options.hangs === 'create') await never(signal);
      if (state !== 'available') {
        const activation = (navigator as { userActivation?: { isActive: boolean } }).userActivation;
        if (activation?.isActive === false) throw failure('NotAllowedError');
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
        ...(initialPrompts.length > 0 && { initialPrompts }),
        ...(temperature !== undefined && { temperature }),
        ...(topK !== undefined && { topK }),
      });
      return new Session(used);
    },
    ...(options.params && {
      params: async () => ({ defaultTopK: 3, maxTopK: 8, defaultTemperature: 1, maxTemperature: 2 }),
    }),
  };
  Object.assign(globalThis, { LanguageModel: api, languageModelCalls: calls });
  return calls;
}
