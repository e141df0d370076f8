import type { WeightFile } from '../catalog/catalog.ts';
import { EngineError } from '../protocol/engine-error.ts';
import type { StorageBackend } from './backends/storage-backend.ts';
import { isQuotaError, storageFull } from './download/download-errors.ts';
import type { DownloadRate } from './download/download-rate.ts';
import { download } from './download/download.ts';
import { requantize, reserve, scaledProgress } from './download/requantized-download.ts';
import type { StoredFiles } from './stored-files.ts';
import type { FileOptions, StoredFile } from './stored-file.ts';

interface Room {
  needed: number;
  free: number | null;
}

interface Downloaded {
  /** SHA-256 of each chunk, in hex. */
  chunks: string[];
  /** Where the bytes came from; null: unknown. */
  url: string | null;
}

interface DownloaderOptions {
  modelsUrl: string;
  rate: DownloadRate;
  room(files: readonly WeightFile[]): Promise<Room>;
  /** Another file, downloaded first when it is not complete. */
  stored(file: WeightFile, options: FileOptions): Promise<StoredFile>;
}

/** Downloads a file into the backend. The caller holds the file's lock. */
export class FileDownloader {
  readonly #backend: StorageBackend;
  readonly #files: StoredFiles;
  readonly #options: DownloaderOptions;

  constructor(backend: StorageBackend, files: StoredFiles, options: DownloaderOptions) {
    this.#backend = backend;
    this.#files = files;
    this.#options = options;
  }

  /** @throws EngineError `weights_unavailable`, `weights_corrupt`, `storage_full` */
  async download(file: WeightFile, options: FileOptions): Promise<Downloaded> {
    return (await this.#requantized(file, options)) ?? this.#asItIs(file, options);
  }

  async #asItIs(file: WeightFile, options: FileOptions): Promise<Downloaded> {
    const { modelsUrl, rate, room } = this.#options;
    expectRoom(await room([file]));
    const url = new URL(file.url ?? file.path, modelsUrl).href;
    const measure = rate.measure();
    const onProgress = (loadedBytes: number): void => {
      measure(loadedBytes);
      options.onProgress(loadedBytes);
    };
    const chunks = await download(this.#backend, file, { ...options, onProgress, url, name: file.sha256 });
    return { chunks, url };
  }

  /** null: the file itself is to be downloaded, as that has begun, or the other is missing or does not fit. */
  async #requantized(file: WeightFile, options: FileOptions): Promise<Downloaded | null> {
    const { requantizedFrom: from } = file;
    if (!from) return null;
    const begun = (await this.#files.storedBytes(file)) > 0;
    if (begun && !(await this.#files.complete(from))) return null;
    const { needed, free } = await this.#options.room([file, from]);
    if (free !== null && free < needed) return null;
    await reserve(this.#backend, file);
    try {
      const onProgress = scaledProgress(file, from, options.onProgress);
      const stored = await this.#options.stored(from, { ...options, onProgress });
      if (!(await stored.intact)) return null;
      const chunks = await requantize(this.#backend, file, stored.blob, options);
      return { chunks, url: stored.from };
    } catch (error) {
      options.signal.throwIfAborted();
      const code = error instanceof EngineError ? error.code : null;
      if (code === 'weights_unavailable') return null;
      if (code !== 'weights_corrupt' && code !== 'storage_full' && !isQuotaError(error)) throw error;
      await this.#files.remove(from);
      return null;
    }
  }
}

/** @throws EngineError `storage_full` */
export function expectRoom({ needed, free }: Room): void {
  if (free !== null && free < needed) throw storageFull(needed, free, []);
}
