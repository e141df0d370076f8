import type { Catalog } from '../catalog/catalog.ts';

/** What the leader page can ask of its engine worker, over Comlink. Requests do not go this way (engine-port.ts). */
export interface WorkerControl {
  /** Call first, once. Resolves when the worker holds `engineLock(epoch)` and takes ports. */
  start(options: WorkerOptions): Promise<void>;
  /** Loads a model's weights into memory; resolves when it can answer. */
  load(model: string, onProgress: (progress: LoadProgress) => void, loadId: string): Promise<void>;
  /** Gives up a load under way that nobody else waits for. */
  cancelLoad(loadId: string): Promise<void>;
  status(): Promise<EngineStatus>;
}

export interface WorkerOptions {
  version: number;
  epoch: string;
  catalog: Catalog;
  /** Absolute URL of the folder with the weights, ending in `/`. */
  modelsUrl: string;
  /** Absolute URL of the folder with the engines' WASM files, ending in `/`. */
  wasmUrl: string;
}

export interface LoadProgress {
  model: string;
  /** `download`: bytes from the network; `load`: from storage into the engine; `ready`: it answers. */
  phase: 'download' | 'load' | 'ready';
  loadedBytes: number;
  totalBytes: number;
}

export interface EngineStatus {
  epoch: string;
  models: ModelStatus[];
}

export interface ModelStatus {
  id: string;
  kind: 'chat' | 'embedding';
  state: 'idle' | 'loading' | 'ready' | 'failed';
  /** Weights, quantization and backend, once chosen. */
  fingerprint: string | null;
  progress: LoadProgress | null;
  queued: number;
  running: number;
  /** Why it failed, for people. */
  error: string | null;
}

/** Worker → every tab, on the BroadcastChannel of this name, whenever something changes. */
export const STATUS_CHANNEL = 'localtext:status';
export type StatusMessage = { version: number; status: EngineStatus };
