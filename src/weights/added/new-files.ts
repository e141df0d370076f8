import { addedFilePath, addedVariantName, isHttpUrl, type RemoteFile, type WeightFile } from '#catalog';
import type { AddedFormat } from '#engine-kit';
import { decoded, printable, requestError, sha256 as hash, ServiceError, type ErrorCode } from '#base';
import { FormatError, startOfBlob, type ModelFile } from '#gguf';
import type { ModelSource, LoadProgress, OnProgress } from '#protocol';
import { cleared } from '../backends/storage-backend.ts';
import { hashBlob } from '../integrity/integrity-record.ts';
import type { ModelStorage } from '../model-storage.ts';
import { readStart } from '../sources/read-start.ts';
import type { VariantFiles } from '../sources/variant-files.ts';
import type { WeightStore } from '../weight-store.ts';
import { chooseModel, listModels } from './repository-models.ts';

interface CountOptions {
  signal: AbortSignal;
  onProgress(bytes: number): void;
}

/** A file of a model that is being added. */
export interface NewFile extends ModelFile {
  phase: LoadProgress['phase'];
  /** Determines the file's path in the store, its size and hash. */
  describe(options: CountOptions): Promise<WeightFile>;
  store(file: WeightFile, options: CountOptions): Promise<void>;
}

export interface FileAccess {
  store: WeightStore;
  variantFiles: Pick<VariantFiles, 'repository'>;
  /** Requests files from the page that adds them; null if it has none for this ticket. */
  requestFiles(ticket: string, signal: AbortSignal): Promise<Blob[] | null>;
}

/** Resolves a source to the files of one model. @throws ServiceError */
export async function openModel(
  source: ModelSource,
  { store, variantFiles, requestFiles }: FileAccess,
  format: AddedFormat,
  signal: AbortSignal,
): Promise<NewFile[]> {
  switch (source.type) {
    case 'files': {
      const blobs = await requestFiles(source.ticket, signal);
      signal.throwIfAborted();
      if (blobs?.length === source.names.length)
        return blobs.map((blob, index) => localFile(source.names[index] ?? '', blob, store));
      throw invalidFile('The files did not come from the page that adds them. Choose them again.');
    }
    case 'url':
      return [await urlFile(source, store, signal)];
    case 'hub': {
      const models = await listModels(source, variantFiles, format, signal);
      const { files, optional } = chooseModel(source, models);
      return files.map((file) => ({ ...remoteFile(file, store, signal), optional: file === optional }));
    }
  }
}

async function urlFile(
  { url, sha256 }: Extract<ModelSource, { type: 'url' }>,
  store: WeightStore,
  signal: AbortSignal,
): Promise<NewFile> {
  if (!isHttpUrl(url)) {
    const rule = "The URL of a model's file must begin with https:// or http://, and have no user name.";
    throw requestError(400, rule, 'invalid_value', 'source');
  }
  const { size } = await readStart(url, 1, signal);
  const name = printable(decoded(new URL(url).pathname.split('/').at(-1) ?? ''), 200);
  return remoteFile({ name, url, bytes: size, sha256: sha256.toLowerCase() }, store, signal);
}

function remoteFile(
  { name, url, bytes, sha256 }: RemoteFile,
  store: WeightStore,
  signal: AbortSignal,
): NewFile {
  let shown: Uint8Array = new Uint8Array(0);
  return {
    name,
    size: bytes,
    phase: 'download',
    read: async (length) => (shown = (await readStart(url, length, signal)).bytes),
    describe: async () => ({ path: addedFilePath(sha256), bytes, sha256, url }),
    async store(file, { onProgress, ...options }) {
      try {
        const { blob } = await store.file(file, { ...options, onProgress, mustStore: true });
        const start = new Uint8Array(await blob.slice(0, shown.length).arrayBuffer());
        // All that is known of the model is from the bytes shown first.
        if (!start.every((byte, at) => byte === shown[at]))
          throw invalidFile(
            `The server sent another header of ${name} than the file has. Nothing was stored.`,
          );
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'weights_corrupt')) throw error;
        const message = `${name} does not have the size or SHA-256 that was given. Check both. Nothing was stored.`;
        throw invalidFile(message);
      }
    },
  };
}

/** Opens a file of this device. It is read twice, so that its hash is known before anything is written. */
function localFile(name: string, blob: Blob, store: WeightStore): NewFile {
  let chunks: string[] = [];
  return {
    ...startOfBlob(blob),
    name,
    phase: 'copy',
    async describe({ signal, onProgress }) {
      const digest = await hashBlob(blob, signal, onProgress);
      onProgress(blob.size);
      chunks = digest.chunks;
      const path = addedFilePath(digest.sha256);
      return { path, bytes: blob.size, sha256: digest.sha256, added: { name, at: Date.now() } };
    },
    store: (file, options) => store.put(file, chunks, blob, options),
  };
}

export interface FileStorage {
  store: () => Promise<WeightStore>;
  modelStorage: Pick<ModelStorage, 'makeRoom' | 'unfinished' | 'withRoom'>;
}

interface Storing {
  files: readonly NewFile[];
  bytes: number;
  /** Suggested id, derived from the model's name. */
  slug: string;
  signal: AbortSignal;
  onProgress: OnProgress;
}

/** Failures of the network or the browser after which the same call may succeed. */
const RESUMABLE = new Set<ErrorCode | null>([
  'storage_failed',
  'storage_unavailable',
  'weights_in_use',
  'weights_unavailable',
]);

/**
 * Stores all files of a model, and calls `use` to list the model under its variant's name. Partial files are kept after an
 * abort, a failure of the network or the browser, or the end of this worker, and removed after other errors. Complete files
 * are kept if the model cannot be listed.
 */
export async function storeFiles<T>(
  storage: FileStorage,
  storing: Storing,
  use: (weights: WeightFile[], variant: string) => Promise<T>,
): Promise<T> {
  const { files, bytes, slug, signal } = storing;
  const { modelStorage } = storage;
  const { unfinished } = modelStorage;
  const store = await storage.store();
  // Check the space before hashing, which reads local files whole.
  await modelStorage.makeRoom(await unfinished.expected(slug, bytes));
  const report = reportOf(storing);
  const fail = (error: unknown): never => {
    signal.throwIfAborted();
    return asInvalidFile(error);
  };
  const weights: WeightFile[] = [];
  for (const file of files)
    weights.push(await file.describe({ signal, onProgress: report.hashing(file) }).catch(fail));
  const name = addedVariantName(slug, await contentHash(weights));
  let isKept = false;
  try {
    await modelStorage.withRoom(weights, signal, async () => {
      await unfinished.begin(name, weights);
      for (const [index, file] of files.entries()) {
        const described = weights[index];
        if (described) await file.store(described, { signal, onProgress: report.storing(file) });
      }
    });
    // The abort may arrive after a small file was stored.
    signal.throwIfAborted();
    if ((await store.missing(weights)).length > 0) throw cleared();
    isKept = true;
    return await use(weights, name);
  } catch (error) {
    isKept ||= signal.aborted || (error instanceof ServiceError && RESUMABLE.has(error.code));
    return fail(error);
  } finally {
    // What could not be removed, or not be marked as finished, is so at the next start.
    await unfinished.end(name, isKept).catch(() => undefined);
  }
}

/** Computes a hash over all files, so that models that share a file get different names. */
async function contentHash(files: readonly WeightFile[]): Promise<string> {
  const hashes = files.map((file) => file.sha256);
  return hashes.length === 1 ? hashes.join() : hash(new TextEncoder().encode(hashes.join()));
}

/** Sums the progress of all files. Files of this device are read twice; each pass counts half. */
function reportOf({ files, bytes, slug, onProgress }: Storing) {
  const hashedBytes = new Map<NewFile, number>();
  const stored = new Map<NewFile, number>();
  const sum = (counts: Map<NewFile, number>): number =>
    [...counts.values()].reduce((total, each) => total + each, 0);
  const phase = files[0]?.phase ?? 'copy';
  const counting = (counts: Map<NewFile, number>) => (file: NewFile) => (count: number) => {
    // A download restarts if the file changed on the server; progress must not go back.
    counts.set(file, Math.max(count, counts.get(file) ?? 0));
    const loadedBytes = phase === 'copy' ? (sum(hashedBytes) + sum(stored)) / 2 : sum(stored);
    onProgress({ model: slug, phase, loadedBytes, totalBytes: bytes });
  };
  return { hashing: counting(hashedBytes), storing: counting(stored) };
}

/** Rethrows an error, as a 400 if the file cannot be read or is not a model. */
export function asInvalidFile(error: unknown): never {
  if (error instanceof ServiceError && error.code === 'weights_corrupt')
    throw invalidFile('The file changed while it was copied. Add it again. Nothing was stored.');
  if (error instanceof FormatError)
    throw invalidFile(`${error.message}. Choose another file. Nothing was stored.`);
  if (error instanceof DOMException && error.name !== 'AbortError')
    throw invalidFile(
      `The file cannot be read (${error.name}): it was perhaps moved or changed. Choose it again. Nothing was stored.`,
    );
  throw error;
}

const invalidFile = (message: string): ServiceError =>
  requestError(400, message, 'invalid_model_file', 'source');
