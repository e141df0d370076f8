import { type WeightFile, weightBytes } from '../../catalog/catalog.ts';
import type { LoadVariantOptions } from './loaded-model.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';
import type { Progress } from '../../protocol/worker-control.ts';

type OnProgress = LoadVariantOptions['onProgress'];

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

type Count = Pick<Progress, 'loadedBytes' | 'totalBytes'>;

interface FileState {
  missing: boolean;
  /** Bytes transferred over the network. */
  network: Count;
  /** Bytes prepared from the transferred ones; null if none yet. */
  prepared: Count | null;
}

export interface FilesProgress {
  file(file: WeightFile, progress: Progress): void;
  stored(file: WeightFile): void;
}

/**
 * Sums the progress of a model's files: bytes over the network, and, once all have arrived, bytes prepared from them.
 */
export async function loadProgress(
  store: WeightStore,
  files: readonly WeightFile[],
  { onProgress }: LoadVariantOptions,
): Promise<FilesProgress> {
  const missing = new Set(await store.missing(files));
  const states = new Map(
    files.map((file): [WeightFile, FileState] => {
      const { bytes: totalBytes } = file;
      const network = { loadedBytes: missing.has(file) ? 0 : totalBytes, totalBytes };
      return [file, { missing: missing.has(file), network, prepared: null }];
    }),
  );
  const report = (): void => {
    const all = [...states.values()];
    const downloading = all.filter((state) => state.missing);
    // From here on, the engine reports the progress.
    if (downloading.length === 0)
      return onProgress({ phase: 'load', loadedBytes: 0, totalBytes: weightBytes({ files }) });
    const prepared = downloading.flatMap((state) => state.prepared ?? []);
    if (prepared.length === downloading.length) return onProgress({ phase: 'prepare', ...sum(prepared) });
    onProgress({ phase: 'download', ...sum(all.map(({ network }) => network)) });
  };
  const change = (file: WeightFile, changed: (state: FileState) => Partial<FileState>): void => {
    const state = states.get(file);
    if (!state?.missing) return;
    states.set(file, { ...state, ...changed(state) });
    report();
  };
  report();
  return {
    file: (file, { phase, ...count }) =>
      change(file, () => (phase === 'prepare' ? { prepared: count } : { network: count, prepared: null })),
    stored: (file) =>
      change(file, ({ network: { totalBytes } }) => ({
        missing: false,
        network: { loadedBytes: totalBytes, totalBytes },
      })),
  };
}

const sum = (counts: readonly Count[]): Count => ({
  loadedBytes: counts.reduce((total, { loadedBytes }) => total + loadedBytes, 0),
  totalBytes: counts.reduce((total, { totalBytes }) => total + totalBytes, 0),
});
