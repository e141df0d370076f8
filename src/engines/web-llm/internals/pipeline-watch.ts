/**
 * Observes a prompt's length before it is computed, ends a long prompt between its pieces, and begins replies with given text.
 *
 * @remarks
 * - Relies on: `PipelineInsides`; `samplePrefillStep()` and the conversation's `appendReplyHeader()`.
 * - Read in: @mlc-ai/web-llm 0.2.86, `lib/llm_chat.d.ts`, `lib/conversation.d.ts`.
 * - Notices: a method is missing when the first prompt comes.
 * - Then: the request fails with `engine_failed`, whose cause names the method.
 */
import type { MLCEngine, MLCEngineConfig } from '@mlc-ai/web-llm';

export type Pipeline = Parameters<MLCEngine['prefill']>[1];

/** The whole prompt in tokens, and the part of it that the KV cache had. */
export interface PromptCount {
  whole: number;
  cached: number;
}

export interface Round {
  /** Text that the reply already starts with. */
  replyStart: string;
  signal: AbortSignal;
  /** Ends with a `CountedError` once the prompt has been counted, before anything is computed. */
  countOnly: boolean;
  onPrompt(count: PromptCount): void;
}

/** Replaces web-llm's own error for a prompt that is too long, and leaves web-llm in the same state. */
export class CountedError extends Error {}

/** Private members of the package, for which there is no public one. The version is pinned in package.json. */
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
 * Observes what web-llm does not report: the prompt's length before it is computed. Asks whether the reply is still needed,
 * and lets it begin with given text.
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
      // A prompt that is too long is counted, too.
      if (this.#round?.countOnly) pipeline.contextWindowSize = Infinity;
      const data = await getInputData().finally(() => (pipeline.contextWindowSize = contextWindowSize));
      // Counted here and not taken from `data[1]`, which leaves out the template's own first tokens.
      const fresh = data[0].reduce<number>((sum, part) => sum + (Array.isArray(part) ? part.length : 0), 0);
      this.#round?.onPrompt({ whole: cached + fresh, cached });
      if (this.#round?.countOnly) throw new CountedError();
      return data;
    };
    const embedAndForward = pipeline.embedAndForward.bind(pipeline);
    pipeline.embedAndForward = async (...input) => {
      // Between the pieces of a long prompt: `interruptGenerate` is looked at only after all of them.
      this.#round?.signal.throwIfAborted();
      return embedAndForward(...input);
    };
  }

  /** Starts replies with a given text, as web-llm does with its empty thinking block. */
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

/** An engine whose pipelines are watched from their first prompt on. */
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
