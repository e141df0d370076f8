import type { ModelKind } from '#jobs';
import type { PageModel } from './page-model.ts';
import type { Catalog, VariantSampling } from '#catalog';
import { nameIn } from './locks.ts';

/**
 * Methods of the engine worker for the leader page, over Comlink. Everything else goes by `engine-port.ts`.
 */
export interface WorkerControl {
  /**
   * Starts the engine; called once. Resolves when the worker holds `engineLock(epoch)` and accepts ports.
   */
  start(options: WorkerOptions, page: PageServices): Promise<void>;
  /** Answers at once. A worker that does not answer has stopped running. */
  ping(): Promise<void>;
}

/** Services that only the page can offer an engine. */
export interface PageServices {
  /** Decodes audio that the worker cannot decode. */
  decodeAudio: DecodeAudio;
  /** The browser's own model. */
  pageModel: PageModel;
  loads: LoadRecords;
}

/** Records loads that ended their tab, such as loads of a model that is too large for the device. */
export interface LoadRecords {
  /** Ids of all loads that are under way, or have not generated a token yet. */
  begun(loads: readonly string[]): Promise<void>;
  /** Ids of the loads with which a tab has ended. */
  fatal(): Promise<string[]>;
  /**
   * Notes that a load was refused for its record, and the page was told. The load may begin again some
   * minutes later.
   */
  refused(load: string): Promise<void>;
}

/** Keys in `localStorage`. */
export const loadsKey = (scope: string): string => `${nameIn(scope)}:loading`;
export const fatalLoadsKey = (scope: string): string => `${nameIn(scope)}:fatal-loads`;

export type DecodeAudio = (file: Blob) => Promise<PageAudio>;

/** One channel at 16 kHz; or the formats that the page plays, if it cannot decode this one. */
export type PageAudio = { samples: Int16Array<ArrayBuffer> } | { plays: string[] };

export interface WorkerOptions {
  version: number;
  epoch: string;
  /** Scope of the app that this engine serves. */
  scope: string;
  catalog: Catalog;
  /** Absolute URL of the folder with the weights, ending in `/`. */
  modelsUrl: string;
  /** Absolute URL of the folder with the engines' WASM files, ending in `/`. */
  wasmUrl: string;
  sources?: SourceOptions;
  /** Variants by name, the most wanted first, before the catalog's own order. */
  prefer?: string[];
  limits?: DeviceLimits;
  images?: ImageOptions;
}

/** Origins that images of chat messages may come from. */
export interface ImageOptions {
  /** Origins that images may be fetched from, beside the site's own: `https://images.example.com`. Default: none. */
  origins?: string[];
}

/** How much of the device a site takes. */
export interface DeviceLimits {
  /** Bytes that models may take in memory together; default: a share of what the device has. */
  memoryBytes?: number;
  /**
   * Whether the models that were not used for longest may be deleted when the storage is full. Default false:
   * an error says so.
   */
  evict?: boolean;
  /**
   * Whether a GPU is timed against WASM once, if both can embed. Default: `real-gpu`, not one in software.
   */
  probe?: 'real-gpu' | 'any-gpu' | 'off';
}

export interface SourceOptions {
  /**
   * Whether weights may come from the model hub (or from a mirror at this URL). Default false: only from the
   * site.
   */
  hub?: boolean | string;
}

export interface LoadProgress {
  model: string;
  /**
   * `download`: bytes over the network, including those of earlier visits; `copy`: from the user's file into the storage; `load`: from the storage into the
   * engine; `compile`: the browser compiles the engine's shaders for the GPU; `ready`: the model answers.
   */
  phase: 'download' | 'copy' | 'load' | 'compile' | 'ready';
  /** Bytes within the phase. In `compile`, the compiled share of `totalBytes` if it is known, else 0. */
  loadedBytes: number;
  totalBytes: number;
  /** Speed of the download over its last seconds; absent until it is known. */
  bytesPerSecond?: number;
}

/** Progress of a load whose model is known. */
export type Progress = Omit<LoadProgress, 'model'>;

export type OnProgress = (progress: LoadProgress) => void;

export interface EngineStatus {
  epoch: string;
  /** Memory of the device, as far as the browser reports it; null: it does not. */
  deviceMemoryBytes: number | null;
  /**
   * The GPU's name, as far as the browser tells; null: WebGPU offers none, or one in software. Absent until
   * it is known.
   */
  gpu?: string | null;
  models: ModelStatus[];
}

/** Status while no engine answers. */
export const NO_ENGINE: EngineStatus = { epoch: '', deviceMemoryBytes: null, models: [] };

export interface ModelStatus {
  id: string;
  kind: ModelKind;
  state: 'idle' | 'loading' | 'ready' | 'failed';
  /** Weights, quantization and backend, once chosen. */
  fingerprint: string | null;
  progress: LoadProgress | null;
  /** Size of its weights, estimated while only the model hub knows it. Absent until they are chosen. */
  bytes?: number;
  queued: number;
  running: number;
  /** Reason of the failure, for people. */
  error: string | null;
  /** Code of the error in docs/errors.md. */
  errorCode?: string;
  /** Weights that needed the memory of this model, which was therefore unloaded; absent once it loads again. */
  unloadedFor?: string;
  /** Sampling parameters that the variant adds to each request; absent until one is loaded. */
  sampling?: VariantSampling;
  /** Whether its chat template has think tags; absent until one is loaded whose template is known. */
  thinks?: boolean;
  /** Reasons for the chosen weights, and against the weights before them; empty until weights are chosen. */
  reasons?: VariantReason[];
  /**
   * Source of each of its weight files, by path: the URL of the download, `disk`, or `unknown` if its record
   * was lost. Absent until one is loaded.
   */
  files?: Record<string, string>;
  /** Estimates of its variants on this device, by name; not of servers. */
  estimates?: Record<string, VariantEstimate>;
}

/** Estimated resources that a variant takes of this device. */
export interface VariantEstimate {
  /** Memory while it is loaded: weights, KV cache at the context length, saved prompt states, engine. */
  memoryBytes: number;
  /** Maximum share of `memoryBytes` for saved states of earlier prompts. */
  promptStateBytes: number;
  /** Bytes of its weights that are not stored yet. */
  downloadBytes: number;
  /** Time to download that, by the speed of earlier downloads; absent while the speed is unknown. */
  downloadSeconds?: number;
}

export interface VariantReason {
  variant: string;
  engine: string;
  chosen: boolean;
  /** Follows the variant's name: `needs shader-f16, which this GPU lacks`. */
  reason: string;
  /** Set if it ended its tab when it was loaded: `ready(id, { retry: true })` tries it again. */
  endedTab?: true;
}

/** Status of a model before its first request. */
export const idleStatus = (id: string, kind: ModelKind): ModelStatus => ({
  id,
  kind,
  state: 'idle',
  fingerprint: null,
  progress: null,
  queued: 0,
  running: 0,
  error: null,
});

/** Worker → every tab of the app, on the BroadcastChannel of this name, whenever something changes. */
export const statusChannel = (scope: string): string => `${nameIn(scope)}:status`;
export type StatusMessage = { version: number; status: EngineStatus };
