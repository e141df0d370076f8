import { weightBytes, type WeightFile } from '#catalog';
import type { WeightStore } from '#weights';
import type { Progress } from '#protocol';

type OnProgress = (progress: Progress) => void;

const isOfEngine = (phase: Progress['phase']): boolean => phase === 'load' || phase === 'compile';

/**
 * Keeps progress from going back: once the engine loads, later downloads are not reported,
 * and the bytes of a phase only grow.
 */
export function onlyForward(onProgress: OnProgress): OnProgress {
  let current: Progress['phase'] = 'download';
  let maxBytes = 0;
  return (progress) => {
    const { phase, loadedBytes } = progress;
    if (isOfEngine(current) && !isOfEngine(phase)) return;
    if (current !== phase) maxBytes = 0;
    current = phase;
    maxBytes = Math.max(maxBytes, loadedBytes);
    onProgress({ ...progress, loadedBytes: maxBytes });
  };
}

/** Sums the downloaded bytes of a model's files. */
export async function loadProgress(
  store: WeightStore,
  files: readonly WeightFile[],
  { onProgress }: { onProgress: OnProgress },
) {
  const totalBytes = weightBytes({ files });
  const missing = new Set(await store.missing(files));
  const loaded = new Map(files.map((file) => [file, missing.has(file) ? 0 : file.bytes]));
  const report = (): void => {
    // Once all files are stored, the engine reports the progress.
    if (missing.size === 0) return onProgress({ phase: 'load', loadedBytes: 0, totalBytes });
    const loadedBytes = [...loaded.values()].reduce((total, bytes) => total + bytes, 0);
    onProgress({ phase: 'download', loadedBytes, totalBytes });
  };
  report();
  return {
    file(file: WeightFile, loadedBytes: number): void {
      if (!missing.has(file)) return;
      loaded.set(file, loadedBytes);
      report();
    },
    stored(file: WeightFile): void {
      if (!missing.delete(file)) return;
      loaded.set(file, file.bytes);
      report();
    },
  };
}

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
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) {
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
