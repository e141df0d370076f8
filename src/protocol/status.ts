import type { VariantSampling } from '#catalog';
import type { ModelKind } from '#jobs';
import { nameIn } from './locks.ts';

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

/**
 * Worker → every tab of the app, on the BroadcastChannel of this name: when a model changes; and, once a tab
 * watches, when requests begin and end.
 */
export const statusChannel = (scope: string): string => `${nameIn(scope)}:status`;
export type StatusMessage = { version: number; status: EngineStatus };
/** Tab → worker, on the same channel. Sent again to the next worker. */
export const WATCH_STATUS = 'watch';
