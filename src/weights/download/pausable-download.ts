import { abortable } from '../../protocol/abort.ts';
import { EngineError } from '../../protocol/engine-error.ts';

const PAUSED = new DOMException('The download was paused.', 'AbortError');

/** What may be done to the download of one file while it is wanted: hold it, let it go on, or give it up. */
export class PausableDownload {
  readonly #cancel = new AbortController();
  readonly #runs = new Set<AbortController>();
  #open: { promise: Promise<void>; resolve: () => void } | null = null;

  get paused(): boolean {
    return this.#open !== null;
  }

  pause(): void {
    if (this.#open) return;
    let resolve = (): void => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#open = { promise, resolve };
    for (const run of this.#runs) run.abort(PAUSED);
  }

  resume(): void {
    this.#open?.resolve();
    this.#open = null;
  }

  /** Callers that wait for the file fail with the error `download_cancelled`. */
  cancel(): void {
    this.#cancel.abort(
      new EngineError({
        code: 'download_cancelled',
        message: 'The download of this model was cancelled. Request the model again to restart it.',
      }),
    );
  }

  /** Runs `work` as often as it is held and let go on. @throws what it throws; the signals' reasons */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const wanted = AbortSignal.any([signal, this.#cancel.signal]);
    for (;;) {
      if (this.#open) await abortable(this.#open.promise, wanted);
      wanted.throwIfAborted();
      const run = new AbortController();
      this.#runs.add(run);
      try {
        return await work(AbortSignal.any([wanted, run.signal]));
      } catch (error) {
        wanted.throwIfAborted();
        if (run.signal.reason !== PAUSED) throw error;
      } finally {
        this.#runs.delete(run);
      }
    }
  }
}
