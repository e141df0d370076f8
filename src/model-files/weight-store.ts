import { type WeightFile, weightBytes } from '../catalog/catalog.ts';
import { weightLock } from '../protocol/locks.ts';
import { requestError } from '../errors/service-error.ts';
import type { StorageBackend } from './backends/storage-backend.ts';
import { copyBlob } from './download/partial-file.ts';
import { didNotFit, storageFull, wrongHash } from './download/download-errors.ts';
import { DownloadRate } from './download/download-rate.ts';
import { download } from './download/download.ts';
import { PausableDownloads } from './download/pausable-download.ts';
import { CROSS_ORIGIN_STORAGE, type CrossOriginSource } from './cross-origin-source.ts';
import { hashBlob } from './integrity/integrity-record.ts';
import type { FetchedFile, FileOptions, StoredFile } from './stored-file.ts';
import { StoredFiles } from './stored-files.ts';

/** One for the whole origin: all its apps share the files. */

export interface WeightStoreOptions {
  rate?: DownloadRate;
  /** Cross-origin storage; null: not used. */
  shared?: CrossOriginSource | null;
}

/** The weights of all engines. */
export class WeightStore {
  readonly backend: StorageBackend;
  readonly notes: Pick<StoredFiles, 'note' | 'keepNote' | 'dropNote'>;
  readonly #files: StoredFiles;
  readonly #locks: LockManager;
  readonly #modelsUrl: string;
  readonly #rate: DownloadRate;
  readonly #shared: CrossOriginSource | null;
  /** Checks by hash that run, or found the file intact, in this worker's life. */
  readonly #checks = new Map<string, Promise<boolean>>();
  readonly #downloads = new PausableDownloads();

  constructor(
    backend: StorageBackend,
    modelsUrl: string,
    locks: LockManager,
    scope: string,
    { rate = new DownloadRate(), shared = null }: WeightStoreOptions = {},
  ) {
    this.backend = backend;
    this.notes = this.#files = new StoredFiles(backend, scope);
    this.#locks = locks;
    this.#modelsUrl = modelsUrl;
    this.#rate = rate;
    this.#shared = shared;
  }

  /** Files among these that are not complete. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(
      files.map(async (file) => (await this.#files.complete(file)) ?? (await this.#isShared(file))),
    );
    return files.filter((_, index) => !stored[index]);
  }

  /** Returns the bytes of these files that cross-origin storage alone has, as far as they are known without asking it. */
  async sharedBytes(files: readonly WeightFile[]): Promise<number> {
    const shared = await this.#split(files, true);
    return weightBytes({ files: shared }) - (await this.storedBytes(shared));
  }

  /** Files that are in cross-origin storage (`isShared`), or those that are not. */
  async #split(files: readonly WeightFile[], isShared: boolean): Promise<WeightFile[]> {
    const shared = await Promise.all(files.map((file) => this.#isShared(file)));
    return files.filter((_, at) => shared[at] === isShared);
  }

  async storedBytes(files: readonly WeightFile[]): Promise<number> {
    const stored = await Promise.all(files.map((file) => this.#files.storedBytes(file)));
    return stored.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Bytes that are still to be stored for these files, and how many may be; null: unknown. */
  async room(files: readonly WeightFile[]): Promise<{ needed: number; free: number | null }> {
    const own = await this.#split(files, false);
    // An unfinished file may occupy its final size already.
    const blobs = await Promise.all(own.map(({ sha256 }) => this.backend.read(sha256)));
    const needed = own.reduce((sum, { bytes }, at) => sum + Math.max(0, bytes - (blobs[at]?.size ?? 0)), 0);
    return { needed, free: needed > 0 ? await this.backend.free() : null };
  }

  /**
   * The file's bytes, downloaded first when they are not complete. One call downloads, in one tab; others wait for it.
   * @throws ServiceError `weights_unavailable`, `weights_corrupt`, `storage_full` or `download_cancelled`
   */
  async file(file: WeightFile, given: FileOptions): Promise<StoredFile> {
    try {
      return await this.#downloads.run(file, given.signal, async (signal) => {
        const options = { ...given, signal };
        const fetchUnlessStored = async () =>
          (await this.#stored(file)) ??
          (await this.#findShared(file, options)) ??
          this.#sound(file, await this.#fetch(file, options));
        return (await this.#stored(file)) ?? (await this.#locked(file, fetchUnlessStored, signal));
      });
    } catch (error) {
      throw didNotFit(file, error);
    }
  }

  /** Holds the running downloads of these files; what has arrived is kept. */
  pause(files: readonly WeightFile[]): void {
    for (const each of this.#downloads.of(files)) each.pause();
  }

  resume(files: readonly WeightFile[]): void {
    for (const each of this.#downloads.of(files)) each.resume();
  }

  paused(files: readonly WeightFile[]): boolean {
    return this.#downloads.of(files).some(({ paused }) => paused);
  }

  /** Cancels these downloads for all callers and deletes partial files. Complete files stay. */
  async cancel(files: readonly WeightFile[]): Promise<void> {
    await Promise.all(this.#downloads.of(files).map((each) => each.cancel()));
    for (const file of await this.missing(files)) await this.#removeUnlessLocked(file);
  }

  /**
   * Stores a blob as the first of these files whose hash it has. They have its size.
   * @throws ServiceError `weights_corrupt`, `storage_full`
   */
  async put(candidates: readonly WeightFile[], blob: Blob, signal: AbortSignal): Promise<WeightFile> {
    const { sha256, chunks } = await hashBlob(blob, signal);
    const file = candidates.find((candidate) => candidate.sha256 === sha256);
    if (!file) throw candidates[0] ? wrongHash(candidates[0]) : new Error('no candidates');
    await this.putHashed(file, chunks, blob, { signal });
    return file;
  }

  /**
   * Stores a blob that the caller has just hashed, continuing from the chunks that are stored.
   * @throws ServiceError `storage_full`, `weights_corrupt` when the blob has changed meanwhile
   */
  async putHashed(
    file: WeightFile,
    chunks: string[],
    blob: Blob,
    options: { signal: AbortSignal; onProgress?: (storedBytes: number) => void },
  ): Promise<void> {
    const store = async (): Promise<void> => {
      if (await this.#files.complete(file)) return this.#files.keepPath(file);
      await this.#expectRoom(file);
      await this.#files.salvage(file);
      await copyBlob(this.backend, file, blob, options);
      await this.#files.finish(file, chunks, { from: 'disk', shared: false });
    };
    await this.#locked(file, store, options.signal).catch((error: unknown) => {
      throw didNotFit(file, error);
    });
  }

  /**
   * Checks that the missing bytes of these files fit, before a long download or import. What the browser reports to be free
   * may be more than it gives.
   * @throws ServiceError `storage_full`
   */
  async tryRoom(files: readonly WeightFile[]): Promise<void> {
    const { needed } = await this.room(files);
    if (needed === 0) return;
    // The name stays the same: should the worker end here, the next try removes it.
    const name = 'room';
    const writer = await this.backend.write(name);
    try {
      await writer.resize(needed);
    } catch (error) {
      throw files[0] ? didNotFit({ ...files[0], bytes: needed }, error) : error;
    } finally {
      await writer.close();
      await this.backend.remove(name);
    }
  }

  /** @throws ServiceError 400 `weights_in_use` while it is being written, here or by another app of the origin */
  async delete(file: WeightFile): Promise<void> {
    if (await this.#removeUnlessLocked(file)) return;
    const message = `${file.path} is being written, perhaps by another app on this origin. Try again when its download has ended.`;
    throw requestError(400, message, 'weights_in_use', 'target');
  }

  async #removeUnlessLocked(file: WeightFile): Promise<boolean> {
    const removed = this.#locks.request(weightLock(file.sha256), { ifAvailable: true }, async (lock) => {
      if (!lock) return false;
      this.#checks.delete(file.sha256);
      await this.#files.remove(file);
      return true;
    });
    return removed;
  }

  /** Another tab, or another app of the origin, may write the same file. */
  async #locked<T>(file: WeightFile, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    let working: Promise<T> | null = null;
    const begin = (): Promise<T> => (working = work());
    try {
      return await this.#locks.request(weightLock(file.sha256), signal ? { signal } : {}, begin);
    } catch (error) {
      // Where a script has stolen the lock, the work goes on.
      if (working) return working;
      throw error;
    }
  }

  /** A file that is not recorded as complete, under its lock: found complete all the same, or downloaded. */
  async #fetch(file: WeightFile, options: FileOptions): Promise<FetchedFile> {
    await this.#files.salvage(file);
    const found = await this.#files.unrecorded(file, options.signal);
    if (!found) return this.#download(file, options);
    // Its bytes are complete, even where there is no room for a new record.
    await this.#files.finish(file, found).catch(() => undefined);
    return { blob: await this.#own(file), from: null };
  }

  /** Cross-origin storage gets a copy. */
  async #download(file: WeightFile, options: FileOptions): Promise<FetchedFile> {
    await this.#expectRoom(file);
    const url = new URL(file.url ?? file.path, this.#modelsUrl).href;
    const measure = this.#rate.measure();
    const onProgress = (loadedBytes: number): void => {
      measure(loadedBytes);
      options.onProgress({ phase: 'download', loadedBytes, totalBytes: file.bytes });
    };
    const chunks = await download(this.backend, file, { ...options, onProgress, url, name: file.sha256 });
    await this.#files.finish(file, chunks, { from: url, shared: false });
    const blob = await this.#own(file);
    const copy = await this.#shared?.write(file, chunks, blob);
    if (!copy) return { blob, from: url };
    // The record first: should the tab end in between, both copies are right.
    await this.#files.finish(file, chunks, { from: url, shared: true });
    await this.backend.remove(file.sha256);
    return { blob: copy, from: url };
  }

  async #own({ path, sha256 }: WeightFile): Promise<Blob> {
    const blob = await this.backend.read(sha256);
    if (blob) return blob;
    throw new Error(`${path} disappeared right after it was stored`);
  }

  /** @throws ServiceError `storage_full` */
  async #expectRoom(file: WeightFile): Promise<void> {
    const { needed, free } = await this.room([file]);
    if (free !== null && free < needed) throw storageFull(needed, free, []);
  }

  async #stored(file: WeightFile): Promise<StoredFile | null> {
    const blob = await this.#files.complete(file);
    if (!blob) return null;
    await this.#files.keepPath(file).catch(() => undefined);
    return this.#checked(file, blob);
  }

  async #checked(file: WeightFile, blob: Blob): Promise<StoredFile> {
    const from = (await this.#files.record(file))?.from ?? null;
    return { blob, from, intact: this.#checks.get(file.sha256) ?? this.#check(file, blob) };
  }

  async #isShared(file: WeightFile): Promise<boolean> {
    if (this.#shared === null || (await this.#files.complete(file))) return false;
    return (await this.#files.record(file))?.shared ?? false;
  }

  /** A file of cross-origin storage is read there: only its record is kept here. */
  async #findShared(file: WeightFile, { signal, onProgress }: FileOptions): Promise<StoredFile | null> {
    const blob = await this.#shared?.read(file);
    if (!blob) return null;
    if (await this.#isShared(file)) return this.#checked(file, blob);
    // It may be removed in the meantime.
    const onHashed = (loadedBytes: number): void =>
      onProgress({ phase: 'prepare', loadedBytes, totalBytes: file.bytes });
    const digest = await hashBlob(blob, signal, onHashed).catch(() => null);
    signal.throwIfAborted();
    if (digest?.sha256 !== file.sha256) {
      this.#shared?.exclude(file);
      return null;
    }
    await this.#files.remove(file);
    await this.#files.finish(file, digest.chunks, { from: CROSS_ORIGIN_STORAGE, shared: true });
    return this.#sound(file, { blob, from: CROSS_ORIGIN_STORAGE });
  }

  /** Bytes that have just been hashed. */
  #sound({ sha256 }: WeightFile, fetched: FetchedFile): StoredFile {
    const intact = Promise.resolve(true);
    this.#checks.set(sha256, intact);
    return { ...fetched, intact };
  }

  #check(file: WeightFile, blob: Blob): Promise<boolean> {
    const check = this.#files.isIntact(file, blob).then(async (intact) => {
      if (!intact && (await this.#isShared(file))) this.#shared?.exclude(file);
      if (!intact) await this.#locked(file, () => this.#files.salvage(file));
      return intact;
    });
    this.#checks.set(file.sha256, check);
    const forget = (): unknown => this.#checks.delete(file.sha256);
    check.then((intact) => intact || forget(), forget);
    return check;
  }
}
