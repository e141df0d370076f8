import type { WeightFile } from '../../catalog/catalog.ts';
import { FormatError } from '../../model-files/gguf/byte-cursor.ts';
import { badRequest, EngineError } from '../../errors/engine-error.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';
import type { ModelStorage } from '../../model-files/model-storage.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';
import type { SourceFile } from './model-source.ts';

export interface FileStorage {
  store: Promise<WeightStore>;
  modelStorage: Pick<ModelStorage, 'makeRoom' | 'unfinished'>;
}

interface Storing {
  files: readonly SourceFile[];
  bytes: number;
  /** Made of the model's name. */
  slug: string;
  signal: AbortSignal;
  onProgress(progress: LoadProgress): void;
}

/**
 * Stores all files of a model, and has `use` make one of them. What an abort, a lost connection or the end of this worker
 * leaves is kept for the next time; what is refused goes.
 */
export async function storeFiles<T>(
  storage: FileStorage,
  storing: Storing,
  use: (weights: WeightFile[]) => Promise<T>,
): Promise<T> {
  const { files, bytes, slug, signal } = storing;
  const { modelStorage } = storage;
  const { unfinished } = modelStorage;
  const store = await storage.store;
  // Before a local file is read as a whole to be hashed.
  const expected = await unfinished.expected(slug, bytes);
  await modelStorage.makeRoom(expected);
  if (files.some(({ phase }) => phase === 'copy')) await store.tryRoom(expected);
  const report = reportOf(storing);
  const weights: WeightFile[] = [];
  try {
    for (const file of files) weights.push(await file.describe({ signal, onProgress: report.hashing(file) }));
    if ((await store.missing(weights)).length > 0) await unfinished.keep(slug, weights);
    for (const [index, file] of files.entries()) {
      const described = weights[index];
      if (described) await file.store(described, { signal, onProgress: report.storing(file) });
    }
    const used = await use(weights);
    await unfinished.forget(slug, weights);
    return used;
  } catch (error) {
    const resumable =
      signal.aborted || (error instanceof EngineError && error.code === 'weights_unavailable');
    if (!resumable) await unfinished.drop(slug, weights);
    signal.throwIfAborted();
    return asInvalidFile(error);
  }
}

/** Bytes of all files together. One of this device is read twice, and each time counts half. */
function reportOf({ files, bytes, slug, onProgress }: Storing) {
  const hashed = new Map<SourceFile, number>();
  const stored = new Map<SourceFile, number>();
  const sum = (counts: Map<SourceFile, number>): number =>
    [...counts.values()].reduce((total, each) => total + each, 0);
  const phase = files[0]?.phase ?? 'copy';
  const counting = (counts: Map<SourceFile, number>) => (file: SourceFile) => (count: number) => {
    counts.set(file, count);
    const loadedBytes = phase === 'copy' ? (sum(hashed) + sum(stored)) / 2 : sum(stored);
    onProgress({ model: slug, phase, loadedBytes, totalBytes: bytes });
  };
  return { hashing: counting(hashed), storing: counting(stored) };
}

/** Of what cannot be read, or is no model. */
export function asInvalidFile(error: unknown): never {
  if (error instanceof EngineError && error.code === 'weights_corrupt')
    throw badRequest(
      `The file changed while it was copied. Add it again. Nothing was stored.`,
      'source',
      'invalid_model_file',
    );
  if (error instanceof FormatError)
    throw badRequest(`${error.message}. Nothing was stored.`, 'source', 'invalid_model_file');
  if (error instanceof DOMException && error.name !== 'AbortError' && error.name !== 'QuotaExceededError') {
    const message = `The file cannot be read (${error.name}): it was perhaps moved or changed. Choose it again. Nothing was stored.`;
    throw badRequest(message, 'source', 'invalid_model_file');
  }
  throw error;
}
