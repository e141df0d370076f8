import type { WeightFile } from '../catalog/catalog.ts';
import type { StorageBackend } from './backends/storage-backend.ts';
import { storageFull } from './download/download-errors.ts';
import type { DownloadRate } from './download/download-rate.ts';
import { download } from './download/download.ts';
import type { FetchedFile, FileOptions } from './stored-file.ts';
import type { StoredFiles } from './stored-files.ts';
import type { CrossOriginSource } from './cross-origin-source.ts';

interface Room {
  needed: number;
  free: number | null;
}

interface DownloaderOptions {
  modelsUrl: string;
  rate: DownloadRate;
  /** Gets a copy of what is downloaded; null: not used. */
  shared: CrossOriginSource | null;
  room(files: readonly WeightFile[]): Promise<Room>;
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
    const { modelsUrl, rate, room, shared } = this.#options;
    expectRoom(await room([file]));
    const url = new URL(file.url ?? file.path, modelsUrl).href;
    const measure = rate.measure();
    const onProgress = (loadedBytes: number): void => {
      measure(loadedBytes);
      options.onProgress(loadedBytes, file.bytes, 'download');
    };
    const chunks = await download(this.#backend, file, { ...options, onProgress, url, name: file.sha256 });
    await this.#files.finish(file, chunks, { from: url, shared: false });
    const blob = await this.#own(file);
    const copy = await shared?.write(file, chunks, blob);
    if (!copy) return { blob, from: url };
    // The record first: should the tab end in between, both copies are right.
    await this.#files.finish(file, chunks, { from: url, shared: true });
    await this.#backend.remove(file.sha256);
    return { blob: copy, from: url };
  }

  async #own({ path, sha256 }: WeightFile): Promise<Blob> {
    const blob = await this.#backend.read(sha256);
    if (blob) return blob;
    throw new Error(`${path} disappeared right after it was stored`);
  }
}

/** @throws ServiceError `storage_full` */
export function expectRoom({ needed, free }: Room): void {
  if (free !== null && free < needed) throw storageFull(needed, free, []);
}
