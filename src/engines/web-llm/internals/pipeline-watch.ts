/**
 * Reports a prompt's length before it is computed, aborts a long prompt between its chunks,
 * and starts replies with a prefix.
 * @remarks
 * - Relies on: `PipelineInsides`; `samplePrefillStep()` and the conversation's `appendReplyHeader()`.
 * - Read in: @mlc-ai/web-llm 0.2.86, `lib/llm_chat.d.ts`, `lib/conversation.d.ts`.
 * - Notices: at the first prompt, a method is missing.
 * - Then: the request fails with `engine_failed`, whose cause names the method.
 */
import type { MLCEngine, MLCEngineConfig } from '@mlc-ai/web-llm';

export type Pipeline = Parameters<MLCEngine['prefill']>[1];

/** Number of tokens of the whole prompt, and of its part in the KV cache. */
export interface PromptCount {
  whole: number;
  cached: number;
}

export interface Round {
  /** Text that the reply starts with. */
  replyStart: string;
  signal: AbortSignal;
  /** Whether to end with a `CountedError` once the prompt is counted, before anything is computed. */
  countOnly: boolean;
  onPrompt(count: PromptCount): void;
}

/**
 * Ends a round after counting. Thrown where web-llm throws for a prompt that is too long, it
 * leaves web-llm in the same state.
 */
export class CountedError extends Error {}

/** Private members of the package without a public equivalent. The version is pinned in package.json. */
interface PipelineInsides {
  filledKVCacheLength: number;
  contextWindowSize: number;
  getInputData(): Promise<[(number[] | object)[], number, unknown]>;
  embedAndForward(...input: unknown[]): Promise<unknown>;
}

/** @throws Error naming a member that this version of the package lacks */
function checkMembers(pipeline: PipelineInsides): void {
  const methods = ['getInputData', 'embedAndForward', 'samplePrefillStep', 'getConversationObject'] as const;
  const missing = methods.find((name) => typeof Reflect.get(pipeline, name) !== 'function');
  if (missing !== undefined)
    throw new Error(`@mlc-ai/web-llm has changed: its pipeline has no ${missing}(). Install version 0.2.86.`);
}

/**
 * Hooks into web-llm's pipeline: reports the prompt's length before it is computed, checks for aborts between
 * chunks of the prompt, and starts the reply with a prefix.
 */
export class PipelineWatch {
  readonly #attached = new WeakSet<Pipeline>();
  #round: Round | null = null;
  pipeline: Pipeline | null = null;

  begin(round: Round): void {
    this.#round = round;
  }

  attach(pipeline: Pipeline): void {
    this.pipeline = pipeline;
    if (this.#attached.has(pipeline)) return;
    checkMembers(pipeline as unknown as PipelineInsides);
    this.#attached.add(pipeline);
    this.#countPrompts(pipeline as unknown as PipelineInsides);
    this.#beginReplies(pipeline);
  }

  #countPrompts(pipeline: PipelineInsides): void {
    const getInputData = pipeline.getInputData.bind(pipeline);
    pipeline.getInputData = async () => {
      const cached = pipeline.filledKVCacheLength;
      const { contextWindowSize } = pipeline;
      // Count prompts that are too long, too.
      if (this.#round?.countOnly) pipeline.contextWindowSize = Infinity;
      const data = await getInputData().finally(() => (pipeline.contextWindowSize = contextWindowSize));
      // `data[1]` does not count the template's first tokens.
      const fresh = data[0].reduce<number>((sum, part) => sum + (Array.isArray(part) ? part.length : 0), 0);
      this.#round?.onPrompt({ whole: cached + fresh, cached });
      if (this.#round?.countOnly) throw new CountedError();
      return data;
    };
    const embedAndForward = pipeline.embedAndForward.bind(pipeline);
    pipeline.embedAndForward = async (...input) => {
      // Check between the chunks of a long prompt: web-llm checks `interruptGenerate` only after all of them.
      this.#round?.signal.throwIfAborted();
      return embedAndForward(...input);
    };
  }

  /** Starts replies with `replyStart`, as web-llm does with its empty thinking block. */
  #beginReplies(pipeline: Pipeline): void {
    const samplePrefillStep = pipeline.samplePrefillStep.bind(pipeline);
    pipeline.samplePrefillStep = async (...input) => {
      const conversation = pipeline.getConversationObject();
      const replyStart = this.#round?.replyStart ?? '';
      if (replyStart === '' || conversation.isTextCompletion) return samplePrefillStep(...input);
      conversation.appendReplyHeader = (role) =>
        conversation.appendEmptyThinkingReplyHeader(role, replyStart);
      try {
        return await samplePrefillStep(...input);
      } finally {
        Reflect.deleteProperty(conversation, 'appendReplyHeader');
      }
    };
  }
}

/** Creates an engine whose pipelines are watched from their first prompt on. */
export function watchedEngine(
  webLlm: typeof import('@mlc-ai/web-llm'),
  watch: PipelineWatch,
  config: MLCEngineConfig,
): MLCEngine {
  class WatchedEngine extends webLlm.MLCEngine {
    override prefill(...input: Parameters<MLCEngine['prefill']>): Promise<void> {
      watch.attach(input[1]);
      return super.prefill(...input);
    }
  }
  return new WatchedEngine(config);
}
