import { weightBytes, type CatalogModel, type Variant } from '#catalog';
import type { ModelStatus, Progress } from '#protocol';
import { showSpan, abortable, ServiceError } from '#base';
import type { Engine } from '#engine-kit';
import { KINDS } from '#jobs';
import { JobQueue } from '#scheduling';
import { loadFailed } from './load-failed.ts';
import { RateMeter } from './load-progress.ts';

export interface LoadVariantOptions {
  signal: AbortSignal;
  onProgress(progress: Progress): void;
  /** @param from the URL that it was downloaded from, `disk` or `unknown` */
  onFile?(path: string, from: string): void;
}

export type LoadVariant = (variant: Variant, options: LoadVariantOptions) => Promise<Engine>;

/** Time for which a caller may get the error of a failed load instead of a load. */
const FAILURE_HOLDS_MS = 30_000;

/** One load, shared by all callers that wait for it. */
interface Loading {
  name: 'loading';
  progress: Progress | null;
  callers: Set<{ onProgress(progress: Progress): void }>;
  abort: AbortController;
  done: Promise<void>;
}

type State =
  /** `unloadedFor`: the variant that needed its memory. */
  | { name: 'idle'; unloadedFor?: string }
  | Loading
  | { name: 'ready'; engine: Engine; progress: Progress }
  /** `failedAt` is a value of `performance.now()`. */
  | { name: 'failed'; error: unknown; failedAt: number };

/** A variant's state in memory (idle, loading, ready or failed), with its engine and queue. */
export class LoadedModel {
  readonly variant: Variant;
  readonly queue: JobQueue;
  /** The source of each file, by path. */
  readonly files = new Map<string, string>();
  /** Time of the last request that used the model, as `performance.now()`. */
  lastUsed = 0;
  readonly #loadVariant: LoadVariant;
  readonly #onChange: () => void;
  #state: State = { name: 'idle' };

  constructor(variant: Variant, kind: CatalogModel['kind'], load: LoadVariant, onChange: () => void) {
    this.variant = variant;
    this.queue = new JobQueue('isBatched' in KINDS[kind] ? Number.POSITIVE_INFINITY : 1);
    this.#loadVariant = load;
    this.#onChange = onChange;
  }

  get state(): ModelStatus['state'] {
    return this.#state.name;
  }

  get engine(): Engine | null {
    return this.#state.name === 'ready' ? this.#state.engine : null;
  }

  get error(): unknown {
    return this.#state.name === 'failed' ? this.#state.error : null;
  }

  get progress(): Progress | null {
    return 'progress' in this.#state ? this.#state.progress : null;
  }

  /**
   * Resolves when the engine is loaded. All callers share one load, which is aborted when the last caller aborts.
   * @param repeatError whether to throw the error of a recent load instead of loading again
   */
  async load(
    signal: AbortSignal,
    onProgress: (progress: Progress) => void,
    repeatError = false,
  ): Promise<void> {
    signal.throwIfAborted();
    const state = this.#state;
    if (state.name === 'ready') return;
    if (repeatError && state.name === 'failed' && performance.now() < state.failedAt + FAILURE_HOLDS_MS)
      throw state.error;
    const loading = state.name === 'loading' ? state : this.#begin();
    const caller = { onProgress };
    loading.callers.add(caller);
    if (loading.progress) onProgress(loading.progress);
    try {
      await abortable(loading.done, signal);
    } finally {
      loading.callers.delete(caller);
      if (loading.callers.size === 0 && this.#state === loading) {
        // A new caller must start a new load, not join an aborted one.
        this.#become({ name: 'idle' });
        loading.abort.abort(new DOMException('Nobody waits for this model any more.', 'AbortError'));
      }
    }
  }

  /** Name of the variant that needed the memory of this one, which was therefore unloaded. */
  get unloadedFor(): string | undefined {
    return this.#state.name === 'idle' ? this.#state.unloadedFor : undefined;
  }

  /** Discards an engine that is broken, or whose memory `other` needs. The next request reloads the model. */
  async drop(engine: Engine, other?: Variant): Promise<void> {
    if (this.engine !== engine) return;
    this.#become({ name: 'idle', ...(other && { unloadedFor: other.name }) });
    await engine.unload().catch(() => undefined);
  }

  #become(state: State): void {
    this.#state = state;
    this.#onChange();
  }

  #begin(): Loading {
    const abort = new AbortController();
    const done = Promise.resolve();
    const loading: Loading = { name: 'loading', progress: null, callers: new Set(), abort, done };
    this.#become(loading);
    loading.done = this.#run(loading);
    loading.done.catch(() => undefined);
    return loading;
  }

  async #run(loading: Loading): Promise<void> {
    const began = performance.now();
    const { signal } = loading.abort;
    const report = (progress: Progress) => {
      for (const { onProgress } of loading.callers) onProgress(progress);
    };
    const meter = new RateMeter();
    try {
      const engine = await this.#loadVariant(this.variant, {
        signal,
        onFile: (path, from) => this.files.set(path, from),
        onProgress: (progress) => {
          if (this.#state !== loading) return;
          const rate = progress.phase === 'download' ? meter.add(progress.loadedBytes) : null;
          loading.progress = { ...progress, ...(rate !== null && { bytesPerSecond: rate }) };
          report(loading.progress);
          this.#onChange();
        },
      });
      if (signal.aborted) {
        await engine.unload();
        throw signal.reason as Error;
      }
      this.queue.slots = engine.slots;
      const totalBytes = weightBytes({ files: this.variant.files });
      const progress: Progress = { phase: 'ready', loadedBytes: totalBytes, totalBytes };
      this.#become({ name: 'ready', engine, progress });
      report(progress);
    } catch (thrown) {
      if (signal.aborted || this.#state !== loading) throw thrown;
      const error = thrown instanceof ServiceError ? thrown : loadFailed(this.variant, thrown);
      // The variant did not fail: the next request loads it at once.
      if (error.code === 'download_cancelled') {
        this.#become({ name: 'idle' });
        throw error;
      }
      this.#become({ name: 'failed', error, failedAt: performance.now() });
      throw error;
    } finally {
      showSpan('load', performance.now() - began, { model: this.variant.name });
    }
  }
}
