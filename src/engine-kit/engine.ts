import type { VariantBase, EngineRules } from '#catalog';
import type { AddedFormat } from './added-format.ts';
import type { ChatJob, EventOf, JobOf, ModelKind } from '#jobs';
import type { Capability, PageServices, Progress } from '#protocol';

/** Traits of a model that are known only once it is in memory. */
export interface LoadedTraits {
  /** Context length that the model was loaded with, in tokens of prompt and reply. Default: the catalog's. */
  contextLength?: number;
  /** False if the model has no chat format and only continues text. */
  chats?: boolean;
  /** Whether the model's chat template has think tags. */
  thinks?: boolean;
  /** Whether the model takes images. */
  vision?: boolean;
}

/** A model in memory. The layers above it handle ids, choices, stop sequences and OpenAI's formats. */
export interface Engine<K extends ModelKind = ModelKind> {
  readonly kind: K;
  /** Names weights, quantization, kernels and backend: `smollm2-135m-instruct-q4_1-wllama-k0123abcd-wasm-2t`. */
  readonly fingerprint: string;
  /** Maximum number of concurrent jobs. */
  readonly slots: number;
  readonly traits: LoadedTraits;
  /** Set if the engine enforces JSON Schemas itself. Other engines get grammars. */
  readonly takesSchemas?: true;
  /**
   * Runs one job and yields its events, `done` last. A chat or a transcription yields `accepted` once its input is
   * known to be valid; a chat with `countOnly` yields nothing else.
   * @throws ServiceError; the signal's reason once the engine is free again
   * @param onPrefill called when the input is known to fit and the engine begins to compute
   */
  run(job: JobOf<K>, signal: AbortSignal, onPrefill?: () => void): AsyncIterable<EventOf<K>>;
  /**
   * Scores each label as the whole reply to a chat, without generating text. Absent if the engine cannot.
   * @throws as `run()` does
   */
  score?(job: ChatJob, labels: readonly string[], signal: AbortSignal): Promise<LabelScores>;
  unload(): Promise<void>;
}

export interface LabelScores {
  /** Log probability of each label's scored tokens, up to a constant for all labels; in the labels' order. */
  logProbabilities: number[];
  promptTokens: number;
  cachedTokens: number;
  /** Tokens computed for the labels, besides the prompt. */
  labelTokens: number;
}

export const runs = <K extends ModelKind>(engine: Engine, kind: K): engine is Engine<K> =>
  engine.kind === kind;

export interface EngineContext extends Partial<PageServices> {
  /** Opens a weight file. Downloads it first if it is not stored. Its hash may still be verified during the load. */
  file(path: string): Promise<Blob>;
  /** Absolute URL of an engine's own WASM file. */
  wasm(name: string): string;
  onProgress(progress: Progress): void;
  /** Aborts the load. It also aborts when a file cannot be opened, as libraries may wait for it forever. */
  signal: AbortSignal;
}

export type LoadEngine<V extends VariantBase, K extends ModelKind> = (
  variant: V,
  context: EngineContext,
) => Promise<Engine<K>>;

export type Backend = 'wasm' | 'webgpu';

/** Interface between the engine worker and an engine. `#engines` has those of this package. */
export interface EnginePlugin<V extends VariantBase = VariantBase> extends EngineRules<V> {
  /** @param chats `LoadedTraits.chats`, once the model is loaded */
  capabilities(variant: V, chats?: boolean): readonly Capability[];
  /** Why a variant cannot answer now, as a phrase that follows its name. Absent if only its weights matter. */
  unmet?(variant: V, page: PageServices): Promise<string | undefined>;
  /** The variant on a backend, to benchmark which is faster. Absent, or undefined, if it has only one. */
  onBackend?(variant: V, backend: Backend): V | undefined;
  /** Name of its WASM file, whose content identifies the engine's version. */
  wasm?: string;
  /** Format of models that the user can add. Absent if the user cannot add any. */
  added?(): Promise<AddedFormat>;
  /** Imports the engine's code. */
  load(variant: V, context: EngineContext): Promise<Engine>;
}

/** Plug-ins by the `engine` of their variants. */
export type Engines = Readonly<Record<string, EnginePlugin>>;
