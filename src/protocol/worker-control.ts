import type { Catalog } from '#catalog';
import type { PageServices } from './page-services.ts';

/**
 * Methods of the engine worker for the leader page, over Comlink. Everything else goes by `engine-port.ts`.
 */
export interface WorkerControl {
  /** Fetches the script of the engine. */
  load(): Promise<void>;
  /**
   * Starts the engine; called once. Resolves when the worker holds `engineLock(epoch)` and accepts ports.
   */
  start(options: WorkerOptions, page: PageServices): Promise<void>;
  /** Answers at once. A worker that does not answer has stopped running. */
  ping(): Promise<void>;
}

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
  /** When the page first asked the browser for a GPU, in milliseconds since 1970. */
  gpuAsked: number;
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
   * Whether the downloaded models that were not used for longest may be deleted when the storage is full. Default
   * false: an error says so.
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
