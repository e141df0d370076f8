import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import type { LoadProgress, ModelStatus } from '../../protocol/worker-control.ts';
import { showSpan } from '../../protocol/user-timing.ts';
import { abortable } from '../../protocol/abort.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import type { Engine } from '../engine.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { SlotQueue } from './scheduler.ts';

export interface LoadVariantOptions {
  signal: AbortSignal;
  onProgress(phase: 'download' | 'load', loadedBytes: number, totalBytes: number): void;
}

export type LoadVariant = (variant: Variant, options: LoadVariantOptions) => Promise<Engine>;

export type Progress = Omit<LoadProgress, 'model'>;

/** A failed load is not tried again at once: 1 s, then twice as long each time, to half a minute. */
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 30_000;

/** Embeddings are batched inside their engine, across requests: nothing is gained by a line before it. */
const EMBEDDING_SLOTS = Number.POSITIVE_INFINITY;

/** One variant's place in memory: empty, being filled, or holding an engine. */
export class LoadedModel {
  readonly variant: Variant;
  readonly queue: SlotQueue;
  /** Opened for servers alone. */
  readonly circuit = new CircuitBreaker();
  engine: Engine | null = null;
  error: unknown = null;
  progress: Progress | null = null;
  /** By `performance.now()`: when a request last got it. */
  lastUsed = 0;
  readonly #loadVariant: LoadVariant;
  readonly #onChange: () => void;
  readonly #listeners = new Set<(progress: Progress) => void>();
  #loading: { done: Promise<void>; abort: AbortController; waiters: number } | null = null;
  #failures = 0;
  #notBefore = 0;

  constructor(variant: Variant, kind: CatalogModel['kind'], load: LoadVariant, onChange: () => void) {
    this.variant = variant;
    this.queue = new SlotQueue(kind === 'embedding' ? EMBEDDING_SLOTS : 1);
    this.#loadVariant = load;
    this.#onChange = onChange;
  }

  get state(): ModelStatus['state'] {
    if (this.engine) return 'ready';
    if (this.#loading) return 'loading';
    return this.error === null ? 'idle' : 'failed';
  }

  /** Resolves when the engine is there. All callers share one load; it is given up when the last one has gone. */
  async load(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    signal.throwIfAborted();
    if (this.engine) return;
    if (!this.#loading && this.error !== null && performance.now() < this.#notBefore) throw this.error;
    const loading = (this.#loading ??= this.#begin());
    loading.waiters++;
    this.#listeners.add(onProgress);
    if (this.progress) onProgress(this.progress);
    try {
      await abortable(loading.done, signal);
    } finally {
      this.#listeners.delete(onProgress);
      loading.waiters--;
      if (loading.waiters === 0 && this.#loading === loading) {
        // A caller that comes now restarts rather than joining a load that is being given up.
        this.#loading = null;
        this.progress = null;
        loading.abort.abort(new DOMException('Nobody waits for this model any more.', 'AbortError'));
        this.#onChange();
      }
    }
  }

  /** The engine is of no more use: the next request reloads it. */
  async drop(engine: Engine): Promise<void> {
    if (this.engine !== engine) return;
    this.engine = null;
    this.progress = null;
    this.#onChange();
    await engine.unload().catch(() => undefined);
  }

  /** Circumstances have changed: a load that failed may be tried again at once. */
  resetBackoff(): void {
    this.#notBefore = 0;
  }

  #begin(): { done: Promise<void>; abort: AbortController; waiters: number } {
    const abort = new AbortController();
    this.error = null;
    const loading = { done: Promise.resolve(), abort, waiters: 0 };
    loading.done = this.#run(abort.signal, () => this.#loading === loading);
    loading.done.catch(() => undefined);
    this.#onChange();
    return loading;
  }

  async #run(signal: AbortSignal, isCurrent: () => boolean): Promise<void> {
    const began = performance.now();
    try {
      const engine = await this.#loadVariant(this.variant, {
        signal,
        onProgress: (phase, loadedBytes, totalBytes) => {
          if (isCurrent()) this.#report({ phase, loadedBytes, totalBytes });
        },
      });
      if (signal.aborted) {
        await engine.unload();
        throw signal.reason as Error;
      }
      this.engine = engine;
      this.#failures = 0;
      if ('slots' in engine) this.queue.slots = engine.slots;
      const totalBytes = this.variant.files.reduce((sum, { bytes }) => sum + bytes, 0);
      this.#report({ phase: 'ready', loadedBytes: totalBytes, totalBytes });
      this.#loading = null;
    } catch (error) {
      if (!signal.aborted && isCurrent()) {
        this.error = error instanceof EngineError ? error : loadFailed(this.variant, error);
        const pause = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#failures++);
        this.#notBefore = performance.now() + pause;
        this.#loading = null;
        this.progress = null;
        this.#onChange();
        throw this.error;
      }
      throw error;
    } finally {
      showSpan('load', performance.now() - began, { model: this.variant.name });
    }
  }

  #report(progress: Progress): void {
    this.progress = progress;
    for (const listener of this.#listeners) listener(progress);
    this.#onChange();
  }
}

function loadFailed(variant: Variant, cause: unknown): EngineError {
  console.error(`localtext: ${variant.name} could not be loaded`, cause);
  const paths = variant.files.map(({ path }) => path).join(', ');
  return new EngineError(
    {
      code: 'model_load_failed',
      message: `The model ${variant.name} could not be loaded: the device may lack memory, or its files may be damaged (${paths}). Close other tabs, or choose another model, and try again.`,
    },
    cause,
  );
}
