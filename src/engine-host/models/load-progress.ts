import { type WeightFile, weightBytes } from '../../catalog/catalog.ts';
import type { LoadVariantOptions } from './loaded-model.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';
import type { Progress } from '../../protocol/worker-control.ts';

type OnProgress = LoadVariantOptions['onProgress'];

const isOfEngine = (phase: Progress['phase']): boolean => phase === 'load' || phase === 'compile';

/**
 * Keeps progress from stepping back: once the engine loads, a file that is still fetched is part of that phase, and the
 * bytes of a phase only grow.
 */
export function onlyForward(onProgress: OnProgress): OnProgress {
  let current: Progress['phase'] = 'download';
  let most = 0;
  return (progress) => {
    const { phase, loadedBytes } = progress;
    if (isOfEngine(current) && !isOfEngine(phase)) return;
    if (current !== phase) most = 0;
    current = phase;
    most = Math.max(most, loadedBytes);
    onProgress({ ...progress, loadedBytes: most });
  };
}

type Count = Pick<Progress, 'loadedBytes' | 'totalBytes'>;

interface FileState {
  missing: boolean;
  /** Bytes that come over the network. */
  network: Count;
  /** Bytes that have been prepared from those; null: none yet. */
  prepared: Count | null;
}

export interface FilesProgress {
  file(file: WeightFile, progress: Progress): void;
  stored(file: WeightFile): void;
}

/**
 * Adds up the bytes of a model's files, as one bar for all of them: what comes over the network, and, once all of that has
 * come, what is made of it.
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
    // The engine reports the progress of its load itself.
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
