import type { WeightFile } from '../../catalog/catalog.ts';
import { weightBytes } from '../../catalog/memory-estimate.ts';
import type { LoadVariantOptions } from './loaded-model.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';

type OnProgress = LoadVariantOptions['onProgress'];

/**
 * Keeps progress from stepping back: once the engine loads, a file that is still fetched is part of that phase, and the
 * bytes of a phase only grow.
 */
export function onlyForward(onProgress: OnProgress): OnProgress {
  let loading = false;
  let most = 0;
  return (phase, loadedBytes, totalBytes) => {
    if (loading && phase === 'download') return;
    if (!loading && phase === 'load') most = 0;
    loading = phase === 'load';
    most = Math.max(most, loadedBytes);
    onProgress(phase, most, totalBytes);
  };
}

/** Adds up the bytes of a model's files: one bar for all of them, called `download` as long as any is missing. */
export async function loadProgress(
  store: WeightStore,
  files: readonly WeightFile[],
  { onProgress }: LoadVariantOptions,
): Promise<{ file(file: WeightFile, loadedBytes: number): void }> {
  const missing = new Set(await store.missing(files));
  const total = weightBytes({ files });
  const loaded = new Map(files.map((file) => [file, missing.has(file) ? 0 : file.bytes]));
  const report = () => {
    // The engine reports the progress of its load itself.
    if (missing.size === 0) return onProgress('load', 0, total);
    onProgress(
      'download',
      [...loaded.values()].reduce((a, b) => a + b, 0),
      total,
    );
  };
  report();
  return {
    file(file, loadedBytes) {
      if (missing.size === 0) return;
      loaded.set(file, loadedBytes);
      if (loadedBytes === file.bytes) missing.delete(file);
      report();
    },
  };
}
