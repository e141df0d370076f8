const WINDOW_MS = 5000;
/** Time before the first estimate. The first bytes arrive slowly, and would give estimates of days. */
const SETTLE_MS = 2000;
/** Minimum time between samples, as progress may be reported for every network packet. */
const SAMPLE_MS = 100;

/** Measures bytes per second over a sliding window, so that a stall shows and a burst does not. */
export class RateMeter {
  #samples: { at: number; bytes: number }[] = [];
  #since: number | null = null;

  /** @param bytes total so far @returns bytes per second; null until bytes have arrived for a while */
  add(bytes: number): number | null {
    const now = performance.now();
    const latest = this.#samples.at(-1);
    if (latest && bytes < latest.bytes) {
      this.#samples = [];
      this.#since = null;
    }
    const last = this.#samples.at(-1);
    if (!last || now - last.at >= SAMPLE_MS) {
      this.#samples = this.#samples.filter(({ at }) => now - at <= WINDOW_MS);
      this.#samples.push({ at: now, bytes });
    }
    const first = this.#samples[0];
    if (!first || bytes === first.bytes) return null;
    this.#since ??= now;
    if (now - this.#since < SETTLE_MS) return null;
    return ((bytes - first.bytes) * 1000) / (now - first.at);
  }
}
