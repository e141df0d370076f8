const WINDOW_MS = 5000;
/** The first bytes come slowly: an estimate from them would be of days. */
const SETTLE_MS = 2000;
/** Progress may come with every network packet. */
const SAMPLE_MS = 100;

/** Bytes a second over a sliding window, so that a stall shows and a burst does not. */
export class RateMeter {
  #samples: { at: number; bytes: number }[] = [];
  #since: number | null = null;

  /** @returns bytes a second, or null until bytes have come for a while. */
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
