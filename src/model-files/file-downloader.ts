import type { WeightFile } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { StorageBackend } from './backends/storage-backend.ts';
import { isQuotaError, storageFull } from './download/download-errors.ts';
import type { DownloadRate } from './download/download-rate.ts';
import { download } from './download/download.ts';
import { requantize, reserve } from './download/requantized-download.ts';
import type { FetchedFile, FileOptions, StoredFile } from './stored-file.ts';
import type { StoredFiles } from './stored-files.ts';
import type { CrossOriginSource } from './cross-origin-source.ts';

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
  /** Gets a copy of what is downloaded; null: not used. */
  shared: CrossOriginSource | null;
  room(files: readonly WeightFile[]): Promise<Room>;
  /** Another file, downloaded first when it is not complete. */
  stored(file: WeightFile, options: FileOptions): Promise<StoredFile>;
}

/** Downloads a file into the backend, and records it. The caller holds the file's lock. */
export class FileDownloader {
  readonly #backend: StorageBackend;
  readonly #files: StoredFiles;
  readonly #options: DownloaderOptions;

  constructor(backend: StorageBackend, files: StoredFiles, options: DownloaderOptions) {
    this.#backend = backend;
    this.#files = files;
    this.#options = options;
  }

  /**
   * A file that is not recorded as complete: found complete all the same, or downloaded.
   * @throws ServiceError `weights_unavailable`, `weights_corrupt`, `storage_full`
   */
  async fetch(file: WeightFile, options: FileOptions): Promise<FetchedFile> {
    await this.#files.salvage(file);
    const found = await this.#files.unrecorded(file, options.signal);
    if (!found) return this.#download(file, options);
    // Its bytes are complete, even where there is no room for a new record.
    await this.#files.finish(file, found).catch(() => undefined);
    return { blob: await this.#own(file), from: null };
  }

  async #download(file: WeightFile, options: FileOptions): Promise<FetchedFile> {
    const { chunks, url } = await this.#fromSite(file, options);
    await this.#files.finish(file, chunks, { from: url, shared: false });
    if (file.requantizedFrom) await this.#files.remove(file.requantizedFrom);
    const blob = await this.#own(file);
    const shared = options.isTemporary ? null : await this.#options.shared?.write(file, chunks, blob);
    if (!shared) return { blob, from: url };
    // The record first: should the tab end in between, both copies are right.
    await this.#files.finish(file, chunks, { from: url, shared: true });
    await this.#backend.remove(file.sha256);
    return { blob: shared, from: url };
  }

  /** A site need not have the file itself where it has the one that the file is requantized from. */
  async #fromSite(file: WeightFile, options: FileOptions): Promise<Downloaded> {
    const { requantizedFrom: from } = file;
    if (!from) return this.#asItIs(file, options);
    const begun = (await this.#files.storedBytes(file)) > 0 && !(await this.#files.complete(from));
    const requantized = begun ? null : await this.#requantized(file, options);
    if (requantized) return requantized;
    try {
      return await this.#asItIs(file, options);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'weights_unavailable')) throw error;
      expectRoom(await this.#options.room([file, from]));
      const repaired = begun ? await this.#requantized(file, options) : null;
      if (repaired) return repaired;
      throw error;
    }
  }

  async #own({ path, sha256 }: WeightFile): Promise<Blob> {
    const blob = await this.#backend.read(sha256);
    if (blob) return blob;
    throw new Error(`${path} disappeared right after it was stored`);
  }

  async #asItIs(file: WeightFile, options: FileOptions): Promise<Downloaded> {
    const { modelsUrl, rate, room } = this.#options;
    expectRoom(await room([file]));
    const url = new URL(file.url ?? file.path, modelsUrl).href;
    const measure = rate.measure();
    const onProgress = (loadedBytes: number): void => {
      measure(loadedBytes);
      options.onProgress(loadedBytes, file.bytes, 'download');
    };
    const chunks = await download(this.#backend, file, { ...options, onProgress, url, name: file.sha256 });
    return { chunks, url };
  }

  /** null: the file itself is to be downloaded, as the other is missing or does not fit. */
  async #requantized(file: WeightFile, options: FileOptions): Promise<Downloaded | null> {
    const { requantizedFrom: from } = file;
    if (!from) return null;
    const { needed, free } = await this.#options.room([file, from]);
    if (free !== null && free < needed) return null;
    await reserve(this.#backend, file);
    try {
      const stored = await this.#options.stored(from, options);
      if (!(await stored.intact)) return null;
      const chunks = await requantize(this.#backend, file, stored.blob, options);
      return { chunks, url: stored.from };
    } catch (error) {
      options.signal.throwIfAborted();
      const code = error instanceof ServiceError ? error.code : null;
      if (code === 'weights_unavailable') return null;
      if (code !== 'weights_corrupt' && code !== 'storage_full' && !isQuotaError(error)) throw error;
      await this.#files.remove(from);
      return null;
    }
  }
}

/** @throws ServiceError `storage_full` */
export function expectRoom({ needed, free }: Room): void {
  if (free !== null && free < needed) throw storageFull(needed, free, []);
}
