import type { WeightFile } from '../../catalog/catalog.ts';
import type { LoadVariantOptions } from '../residency.ts';
import type { WeightStore } from './weight-store.ts';

/** Adds up the bytes of a model's files: one bar for all of them, called `download` as long as any is missing. */
export async function loadProgress(
  store: WeightStore,
  files: readonly WeightFile[],
  options: LoadVariantOptions,
): Promise<{ file(file: WeightFile, loadedBytes: number): void }> {
  const missing = new Set(await store.missing(files));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const loaded = new Map(files.map((file) => [file, missing.has(file) ? 0 : file.bytes]));
  const report = () => {
    const sum = [...loaded.values()].reduce((a, b) => a + b, 0);
    options.onProgress(missing.size > 0 ? 'download' : 'load', sum, total);
  };
  report();
  return {
    file(file, loadedBytes) {
      loaded.set(file, loadedBytes);
      if (loadedBytes === file.bytes) missing.delete(file);
      report();
    },
  };
}
