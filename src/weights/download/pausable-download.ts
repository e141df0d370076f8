import { abortable, createDeferred, serverError, type Deferred } from '#base';
import type { WeightFile } from '#catalog';

const PAUSED = new DOMException('The download was paused.', 'AbortError');

/** Download of one file, with all callers that wait for it. They are paused, resumed and cancelled together. */
class PausableDownload {
  readonly #cancelled = new AbortController();
  readonly #runs = new Map<AbortController, Promise<unknown>>();
  #resumed: Deferred | null = null;
  users = 0;

  get paused(): boolean {
    return this.#resumed !== null;
  }

  pause(): void {
    if (this.#resumed) return;
    this.#resumed = createDeferred();
    for (const run of this.#runs.keys()) run.abort(PAUSED);
  }

  resume(): void {
    this.#resumed?.resolve();
    this.#resumed = null;
  }

  /** Fails all callers with `download_cancelled`. Resolves once writing has stopped. */
  async cancel(): Promise<void> {
    const message = 'The download of this model was cancelled. Request the model again to restart it.';
    this.#cancelled.abort(serverError('download_cancelled', message));
    await Promise.allSettled(this.#runs.values());
  }

  /** Runs `work`, and restarts it after each pause. @throws the error of `work`; the signals' reasons */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = AbortSignal.any([signal, this.#cancelled.signal]);
    for (;;) {
      if (this.#resumed) await abortable(this.#resumed.promise, ended);
      ended.throwIfAborted();
      const run = new AbortController();
      const running = work(AbortSignal.any([ended, run.signal]));
      this.#runs.set(run, running);
      try {
        return await running;
      } catch (error) {
        ended.throwIfAborted();
        if (run.signal.reason !== PAUSED) throw error;
      } finally {
        this.#runs.delete(run);
      }
    }
  }
}

/** The running and paused downloads. */
export class PausableDownloads {
  /** Downloads by hash. */
  readonly #waiting = new Map<string, PausableDownload>();

  /** Runs `work` as one of the callers that wait for the file. @throws the error of `work`; the signals' reasons */
  async run<T>(
    { sha256 }: WeightFile,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const waiting = this.#waiting.get(sha256) ?? new PausableDownload();
    this.#waiting.set(sha256, waiting);
    waiting.users++;
    try {
      return await waiting.run(signal, work);
    } finally {
      waiting.users--;
      if (waiting.users === 0) this.#waiting.delete(sha256);
    }
  }

  of(files: readonly WeightFile[]): PausableDownload[] {
    return files.flatMap(({ sha256 }) => this.#waiting.get(sha256) ?? []);
  }
}
