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

export interface WeightStoreOptions {
  rate?: DownloadRate;
  /** Cross-origin storage; null if not used. */
  shared?: CrossOriginSource | null;
}

/** Downloads, verifies and stores the weights of all engines. All apps of the origin share the files. */
export class WeightStore {
  readonly backend: StorageBackend;
  readonly notes: Pick<StoredFiles, 'note' | 'keepNote' | 'dropNote'>;
  readonly #files: StoredFiles;
  readonly #locks: LockManager;
  readonly #modelsUrl: string;
  readonly #rate: DownloadRate;
  readonly #shared: CrossOriginSource | null;
  /** Running integrity checks, and those that found the file intact, by hash. */
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

  /** Lists files that are not stored completely. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(
      files.map(async (file) => (await this.#files.complete(file)) ?? (await this.#isShared(file))),
    );
    return files.filter((_, index) => !stored[index]);
  }

  /** Counts bytes that only cross-origin storage has, according to the records. */
  async sharedBytes(files: readonly WeightFile[]): Promise<number> {
    const shared = await this.#split(files, true);
    return weightBytes({ files: shared }) - (await this.storedBytes(shared));
  }

  /** Selects the files that are in cross-origin storage (`isShared`), or those that are not. */
  async #split(files: readonly WeightFile[], isShared: boolean): Promise<WeightFile[]> {
    const shared = await Promise.all(files.map((file) => this.#isShared(file)));
    return files.filter((_, at) => shared[at] === isShared);
  }

  async storedBytes(files: readonly WeightFile[]): Promise<number> {
    const stored = await Promise.all(files.map((file) => this.#files.storedBytes(file)));
    return stored.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Computes the bytes still to store for these files, and the free space; null if unknown or not needed. */
  async room(files: readonly WeightFile[]): Promise<{ needed: number; free: number | null }> {
    const own = await this.#split(files, false);
    // A partial file may already occupy its final size.
    const blobs = await Promise.all(own.map(({ sha256 }) => this.backend.read(sha256)));
    const needed = own.reduce((sum, { bytes }, at) => sum + Math.max(0, bytes - (blobs[at]?.size ?? 0)), 0);
    return { needed, free: needed > 0 ? await this.backend.free() : null };
  }

  /**
   * Opens a file, and downloads it first if it is incomplete. One call in one tab downloads; others wait for it.
   * @throws ServiceError `weights_unavailable`, `weights_corrupt`, `storage_full` or `download_cancelled`
   */
  async file(file: WeightFile, callerOptions: FileOptions): Promise<StoredFile> {
    try {
      return await this.#downloads.run(file, callerOptions.signal, async (signal) => {
        const options = { ...callerOptions, signal };
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

  /** Pauses the running downloads of these files. Downloaded chunks are kept. */
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
   * Stores a blob as the first of these files that has its hash. All candidates must have its size.
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
   * Stores a blob that the caller has just hashed, resuming after chunks that are already stored.
   * @throws ServiceError `storage_full`; `weights_corrupt` if the blob has changed in the meantime
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
   * Checks that the missing bytes of these files fit, before a long download or import. Allocates them, as the
   * browser may report more free space than it grants.
   * @throws ServiceError `storage_full`
   */
  async tryRoom(files: readonly WeightFile[]): Promise<void> {
    const { needed } = await this.room(files);
    if (needed === 0) return;
    // A fixed name: if the worker ends here, the next call removes the file.
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

  /** @throws ServiceError 400 `weights_in_use` while the file is being written, by this or another app of the origin */
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

  /** Runs `work` under the file's lock: another tab, or another app of the origin, may write the same file. */
  async #locked<T>(file: WeightFile, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    let working: Promise<T> | null = null;
    const begin = (): Promise<T> => (working = work());
    try {
      return await this.#locks.request(weightLock(file.sha256), signal ? { signal } : {}, begin);
    } catch (error) {
      // If a script has stolen the lock, the work continues.
      if (working) return working;
      throw error;
    }
  }

  /** Downloads a file without a record, unless it turns out to be complete. Runs under the file's lock. */
  async #fetch(file: WeightFile, options: FileOptions): Promise<FetchedFile> {
    await this.#files.salvage(file);
    const chunks = await this.#files.unrecorded(file, options.signal);
    if (!chunks) return this.#download(file, options);
    // The bytes are complete even if there is no space for a new record.
    await this.#files.finish(file, chunks).catch(() => undefined);
    return { blob: await this.#own(file), from: null };
  }

  /** Downloads a file. If cross-origin storage takes a copy, only the record is kept here. */
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
    // Write the record first: if the tab ends in between, both copies are valid.
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

  /** Opens a file in cross-origin storage. Verifies it first, unless a record shows that it was verified. */
  async #findShared(file: WeightFile, { signal, onProgress }: FileOptions): Promise<StoredFile | null> {
    const blob = await this.#shared?.read(file);
    if (!blob) return null;
    if (await this.#isShared(file)) return this.#checked(file, blob);
    // Hashing fails if the file is removed in the meantime.
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

  /** Marks just hashed bytes as intact. */
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
