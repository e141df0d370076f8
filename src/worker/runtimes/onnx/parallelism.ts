import type { TransformersVariant } from '../../../catalog/catalog.ts';
import { maxWorkers } from '../../../catalog/memory-estimate.ts';
import { hasThreads, processors } from '../../device/threads.ts';

/** How a model on WASM uses the processors. */
export interface Parallelism {
  /** The most that compute at once. */
  workers: number;
  /** Of a worker that computes alone. */
  threadsAlone: number;
  /** Of each of several. */
  threadsEach: number;
}

/** Threads require SharedArrayBuffer, workers do not. */
export function parallelism(variant: TransformersVariant): Parallelism {
  const threadsAlone = hasThreads() ? processors() : 1;
  const workers = variant.device === 'webgpu' ? 1 : Math.min(maxWorkers(variant), processors());
  return { workers, threadsAlone, threadsEach: Math.max(1, Math.floor(threadsAlone / workers)) };
}
