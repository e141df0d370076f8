import type { VariantBase } from '../catalog/catalog.ts';
import type { EngineRules } from '../catalog/engines/engine-rules.ts';
import type { AddedFormat } from './added-format.ts';
import type { ChatJob } from '../jobs/chat.ts';
import type { EventOf, JobOf, ModelKind } from '../jobs/kinds.ts';
import type { Capability } from '../protocol/model-facts.ts';
import type { PageServices, Progress } from '../protocol/worker-control.ts';

/** Facts about a model that are known only once it is in memory. */
export interface LoadedFacts {
  /** Tokens of prompt and reply together, as it was loaded. Default: the catalog's. */
  contextLength?: number;
  /** False for a model without a notation for conversations, which only continues text. */
  chats?: boolean;
  /** Whether the model's chat template has think tags. */
  thinks?: boolean;
  /** Whether it takes images. */
  vision?: boolean;
}

/** A model in memory. Ids, choices, stop sequences and OpenAI's formats are above it. */
export interface Engine<K extends ModelKind = ModelKind> {
  readonly kind: K;
  /** Names weights, quantization, kernels and backend: `smollm2-135m-instruct-q4_1-wllama-k0123abcd-wasm-2t`. */
  readonly fingerprint: string;
  /** Maximum of concurrent jobs. */
  readonly slots: number;
  readonly facts: LoadedFacts;
  /** Set if the engine enforces JSON Schemas itself. Other engines get grammars. */
  readonly takesSchemas?: true;
  /**
   * Runs one job and yields its events, `done` last. A chat or a transcription yields `accepted` once its input is known to be
   * valid; a chat with `countOnly` yields nothing else.
   * @throws ServiceError; the signal's reason when aborted, and only after the engine is free again
   * @param onPrefill called when the input is known to fit and the engine begins to compute
   */
  run(job: JobOf<K>, signal: AbortSignal, onPrefill?: () => void): AsyncIterable<EventOf<K>>;
  /**
   * Scores each label as the whole reply to a chat; nothing is generated. Absent: the engine cannot.
   * @throws as `run()` does
   */
  score?(job: ChatJob, labels: readonly string[], signal: AbortSignal): Promise<LabelScores>;
  unload(): Promise<void>;
}

export interface LabelScores {
  /** Log probability of the tokens of each label that count, less a number that all labels share; in the order of the labels. */
  logProbabilities: number[];
  promptTokens: number;
  cachedTokens: number;
}

export const runs = <K extends ModelKind>(engine: Engine, kind: K): engine is Engine<K> =>
  engine.kind === kind;

export interface EngineContext extends Partial<PageServices> {
  /** A weight file's bytes, from the store (downloaded first when needed), checked against the catalog's hash. */
  file(path: string): Promise<Blob>;
  /** Absolute URL of an engine's own WASM file. */
  wasm(name: string): string;
  onProgress(progress: Progress): void;
  signal: AbortSignal;
}

export type LoadEngine<V extends VariantBase, K extends ModelKind> = (
  variant: V,
  context: EngineContext,
) => Promise<Engine<K>>;

export type Backend = 'wasm' | 'webgpu';

/** Engine as the host knows it. `registry.ts` has those of this package. */
export interface EnginePlugin<V extends VariantBase = VariantBase> extends EngineRules<V> {
  /** @param chats of the loaded model, once it is known */
  capabilities(variant: V, chats?: boolean): readonly Capability[];
  /** Set if its variants need a GPU unless they say otherwise. */
  needsGpu?: true;
  /** Why a variant cannot answer now, as a phrase that follows its name. Absent: its weights decide. */
  unmet?(variant: V, page: PageServices): Promise<string | undefined>;
  /** The variant on a backend, for the host to measure which is faster. Absent, or undefined: it has only one. */
  onBackend?(variant: V, backend: Backend): V | undefined;
  /** WASM file, as the package names it: another content is another version of the engine. */
  wasm?: string;
  /** How the user adds models for it. Absent: there is no way. */
  added?(): Promise<AddedFormat>;
  /** Functions, by name, that workers can run which the engine starts from this script. */
  helpers?: Readonly<Record<string, () => Promise<object>>>;
  /** Imports the engine's code. */
  load(variant: V, context: EngineContext): Promise<Engine>;
}

/** Plug-ins by the name that variants have for them. */
export type Engines = Readonly<Record<string, EnginePlugin>>;
