const WINDOW_MS = 5000;

/** Bytes a second over a sliding window, so that a stall shows and a burst does not. */
export class RateMeter {
  #samples: { at: number; bytes: number }[] = [];

  /** @returns bytes a second, or null until two samples lie apart. */
  add(bytes: number, now = performance.now()): number | null {
    const latest = this.#samples.at(-1);
    if (latest && bytes < latest.bytes) this.#samples = [];
    this.#samples.push({ at: now, bytes });
    this.#samples = this.#samples.filter(({ at }) => now - at <= WINDOW_MS);
    const first = this.#samples[0];
    if (!first || now - first.at < 250) return null;
    return ((bytes - first.bytes) * 1000) / (now - first.at);
  }
}
