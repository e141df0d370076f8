import type { Variant } from '../../catalog/catalog.ts';
import type {
  ChatEvent,
  ChatJob,
  EmbeddingJob,
  TranscriptionEvent,
  TranscriptionJob,
} from '../../protocol/job.ts';
import type { BuiltInModel } from '../../protocol/built-in.ts';
import type { DecodeAudio } from '../../protocol/worker-control.ts';

/** A chat model in memory. Ids, choices, stop sequences and OpenAI's shapes are above it. */
export interface ChatEngine {
  readonly fingerprint: string;
  /** Tokens of prompt and reply together, as it was loaded; none: as the catalog has it. */
  readonly contextLength?: number;
  /** Maximum of concurrent jobs. */
  readonly slots: number;
  /** False: the model has no notation for conversations, and only continues text. */
  readonly chats?: boolean;
  /** Whether the model's chat template has think tags; none: only its server knows. */
  readonly thinks?: boolean;
  /** Whether it takes images; none: it does not. */
  readonly vision?: boolean;
  /**
   * Runs one job. Yields `accepted` once the prompt is known to fit, then deltas, then `done`. With `countOnly`, only `accepted`.
   * @throws ServiceError with code `context_length_exceeded` before `accepted`; the signal's reason when aborted, and
   *   only after the engine is free again.
   * @param onPrefill called when the prompt is known to fit, by engines that yield `accepted` only with the first token
   */
  generate(
    job: ChatJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined>;
  unload(): Promise<void>;
}

/** An embedding model in memory. */
export interface EmbeddingEngine {
  readonly fingerprint: string;
  /**
   * L2-normalised vectors, one for each input, in order.
   * @throws ServiceError `context_length_exceeded` naming the input that is too long.
   */
  embed(
    job: EmbeddingJob,
    signal: AbortSignal,
  ): Promise<{ vectors: Float32Array<ArrayBuffer>[]; tokens: number }>;
  unload(): Promise<void>;
}

/** A speech model in memory. */
export interface TranscriptionEngine {
  readonly fingerprint: string;
  readonly slots: number;
  /**
   * Runs one job. Yields `accepted` once the file is known to be sound, a `delta` for each finished part, then `done`.
   * @throws ServiceError 400 before `accepted`; the signal's reason when aborted, and only after the engine is free again.
   */
  transcribe(job: TranscriptionJob, signal: AbortSignal): AsyncGenerator<TranscriptionEvent, void, undefined>;
  unload(): Promise<void>;
}

export interface EngineContext {
  /** A weight file's bytes, from the store (downloaded first when needed), checked against the catalog's hash. */
  file(path: string): Promise<Blob>;
  /** Absolute URL of an engine's own WASM file. */
  wasm(name: string): string;
  /** Decodes in the page what the worker cannot. */
  decodeAudio?: DecodeAudio;
  /** Origins beside the site's own that images may be fetched from. */
  imageOrigins?: readonly string[];
  /** The browser's own model, which only the page has. */
  builtIn?: BuiltInModel | null;
  /** @param phase `load`, where it is not given */
  onProgress(loadedBytes: number, totalBytes: number, phase?: 'load' | 'compile'): void;
  signal: AbortSignal;
}

export type LoadEngine<V extends Variant, E> = (variant: V, context: EngineContext) => Promise<E>;

export type Engine = ChatEngine | EmbeddingEngine | TranscriptionEngine;
