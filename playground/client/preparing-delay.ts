import type { LoadProgress } from '../../src/index.ts';

/** Preparing what was downloaded is shown when it takes longer, in milliseconds. */
const SHOW_AFTER_MS = 1000;

/** Keeps the download's last figures on the screen during a short preparation. */
export class PreparingDelay {
  #since: number | null = null;

  hides(phase: LoadProgress['phase']): boolean {
    if (phase !== 'prepare') {
      this.#since = null;
      return false;
    }
    this.#since ??= performance.now();
    return performance.now() - this.#since < SHOW_AFTER_MS;
  }
}
