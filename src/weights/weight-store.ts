import type { WeightFile } from '#catalog';
import { keepLock, weightLock, weightWriters } from '#protocol';
import { requestError, ServiceError, whenStuck } from '#base';
import { MemoryBackend } from './backends/open-backend.ts';
import { cleared, type StorageBackend } from './backends/storage-backend.ts';
import { copyBlob } from './download/partial-file.ts';
import { didNotFit, lostFile } from './download/download-errors.ts';
import { DownloadRate } from './download/download-rate.ts';
import { download } from './download/download.ts';
import { PausableDownloads } from './download/pausable-download.ts';
import { StoredFiles } from './stored-files.ts';

export interface FileOptions {
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
  /** Refuses a file that a stopped tab keeps locked, which is otherwise downloaded into memory. */
  mustStore?: boolean;
}

export interface PutOptions {
  signal: AbortSignal;
  onProgress?: (storedBytes: number) => void;
  /** Called before the first byte is written, while nothing deletes the file. */
  onBegin?: () => Promise<void>;
}

/** A stored file, usable while its bytes are still being verified. */
export interface StoredFile {
  blob: Blob;
  /** URL that it was downloaded from, or `disk`; null if unknown. */
  from: string | null;
  /** Resolves to false if the file is damaged. It has then been turned back into a partial download. */
  intact: Promise<boolean>;
}

type IsNeeded = (file: WeightFile) => boolean | Promise<boolean>;

/** Downloads, verifies and stores the weights of all engines. All apps of the origin share the files. */
export class WeightStore {
  readonly backend: StorageBackend;
  readonly notes: Pick<StoredFiles, 'note' | 'keepNote' | 'dropNote' | 'isClaimed'>;
  readonly #files: StoredFiles;
  readonly #locks: LockManager;
  readonly #modelsUrl: string;
  readonly #rate: DownloadRate;
  /** Running integrity checks, and those that found the file intact, by hash. */
  readonly #checks = new Map<string, Promise<boolean>>();
  readonly #downloads = new PausableDownloads();

  constructor(
    backend: StorageBackend,
    modelsUrl: string,
    locks: LockManager,
    scope: string,
    rate = new DownloadRate(),
  ) {
    this.backend = backend;
    this.notes = this.#files = new StoredFiles(backend, scope);
    this.#locks = locks;
    this.#modelsUrl = modelsUrl;
    this.#rate = rate;
  }

  /** Lists files that are not stored completely. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(files.map((file) => this.#files.complete(file)));
    return files.filter((_, index) => !stored[index]);
  }

  async storedBytes(files: readonly WeightFile[]): Promise<number> {
    const stored = await Promise.all(files.map((file) => this.#files.storedBytes(file)));
    return stored.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Computes the bytes still to store for these files, and the free space; null if unknown or not needed. */
  async room(files: readonly WeightFile[]): Promise<{ needed: number; free: number | null }> {
    // A partial file may already occupy its final size.
    const blobs = await Promise.all(files.map(({ sha256 }) => this.backend.read(sha256)));
    const needed = files.reduce((sum, { bytes }, at) => sum + Math.max(0, bytes - (blobs[at]?.size ?? 0)), 0);
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
        const fetchUnlessStored = async () => (await this.#stored(file)) ?? this.#fetch(file, options);
        const fetchBeside = (error: unknown) => this.#fetchBeside(file, options, error);
        return (
          (await this.#stored(file)) ??
          (await this.#writing(file, fetchUnlessStored, signal).catch(fetchBeside))
        );
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
    const isStored = async (file: WeightFile) => (await this.#files.complete(file)) !== null;
    for (const file of await this.missing(files)) await this.#releaseUnlessLocked(file, isStored);
  }

  /**
   * Stores a blob that the caller has just hashed, resuming after chunks that are already stored.
   * @throws ServiceError `storage_full`; `weights_corrupt` if the blob has changed in the meantime
   */
  async put(file: WeightFile, chunks: string[], blob: Blob, options: PutOptions): Promise<void> {
    const store = async (): Promise<void> => {
      await options.onBegin?.();
      await this.#files.claim(file);
      if (await this.#files.complete(file)) return;
      if (await this.#files.repair(file, options.signal)) return;
      await copyBlob(this.backend, file, blob, options);
      await this.#files.finish(file, chunks, 'disk');
    };
    await this.#writing(file, store, options.signal).catch((error: unknown) => {
      throw didNotFit(file, error);
    });
  }

  /**
   * Deletes a file that is not needed. Its bytes stay while another app of the origin claims them.
   * @param isNeeded called under the file's lock: it may be needed by now
   * @throws ServiceError 400 `weights_in_use` while the file is being written, by this or another app of the origin
   */
  async delete(file: WeightFile, isNeeded?: IsNeeded): Promise<void> {
    if (!(await this.#releaseUnlessLocked(file, isNeeded))) throw inUse(file);
  }

  async #releaseUnlessLocked(file: WeightFile, isNeeded?: IsNeeded): Promise<boolean> {
    const written = new AbortController();
    const release = async (): Promise<void> => {
      if (await isNeeded?.(file)) return;
      this.#checks.delete(file.sha256);
      await this.#files.release(file);
    };
    // Begun first: a later writer of the file waits for it.
    const released = this.#locked(file, release, written.signal).then(
      () => true,
      (error: unknown) => {
        if (error === written.signal.reason) return false;
        throw error;
      },
    );
    const { held = [] } = await this.#locks.query();
    if (held.some(({ name }) => name?.startsWith(weightWriters(file.sha256)))) written.abort();
    return released;
  }

  /** Runs `work`, which writes the file, under the file's lock. */
  async #writing<T>(file: WeightFile, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await keepLock(this.#locks, weightWriters(file.sha256, crypto.randomUUID()), signal);
    return this.#locked(file, work, signal).finally(release);
  }

  /**
   * Runs `work` under the file's lock: another tab, or another app of the origin, may change the same file.
   * @throws ServiceError `weights_in_use` if the holder does not answer: iOS stops hidden tabs, whose locks stay
   */
  async #locked<T>(file: WeightFile, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const name = weightLock(file.sha256);
    const channel = new BroadcastChannel(name);
    const waiting = new AbortController();
    const pings: (() => void)[] = [];
    channel.onmessage = ({ data }) => {
      if (data === 'alive') for (const answer of pings.splice(0)) answer();
      else if (data === 'alive?' && waiting.signal.aborted) channel.postMessage('alive');
    };
    const ping = (): Promise<void> =>
      new Promise((resolve) => {
        pings.push(resolve);
        channel.postMessage('alive?');
      });
    const giveUp = (): void => waiting.abort(inUse(file));
    whenStuck(ping, waiting.signal).then(giveUp, () => undefined);
    let working: Promise<T> | null = null;
    const begin = (): Promise<T> => {
      waiting.abort();
      return (working = work());
    };
    try {
      const either = AbortSignal.any([waiting.signal, signal ?? waiting.signal]);
      return await this.#locks.request(name, { signal: either }, begin);
    } catch (error) {
      // If a script has stolen the lock, the work continues.
      if (working) return await working;
      throw error;
    } finally {
      waiting.abort();
      channel.close();
    }
  }

  /** Downloads a file without a record, unless it turns out to be complete. Runs under the file's lock. */
  async #fetch(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    const isComplete = await this.#files.repair(file, options.signal);
    const from = isComplete ? null : await this.#download(file, options);
    const blob = await this.backend.read(file.sha256);
    if (blob?.size !== file.bytes) throw cleared();
    // Just hashed.
    const intact = Promise.resolve(true);
    this.#checks.set(file.sha256, intact);
    return { blob, from, intact };
  }

  /** @returns the URL that it came from */
  async #download(file: WeightFile, options: FileOptions): Promise<string> {
    if (file.added) throw lostFile(file, file.added);
    const url = new URL(file.url ?? file.path, this.#modelsUrl).href;
    const measure = this.#rate.measure();
    const onProgress = (loadedBytes: number): void => {
      measure(loadedBytes);
      options.onProgress(loadedBytes);
    };
    const chunks = await download(this.backend, file, { ...options, onProgress, url, name: file.sha256 });
    await this.#files.finish(file, chunks, url);
    return url;
  }

  /** Downloads into memory, for this engine alone, a file that a stopped tab keeps locked. @throws another error */
  async #fetchBeside(file: WeightFile, options: FileOptions, error: unknown): Promise<StoredFile> {
    const isLocked = error instanceof ServiceError && error.code === 'weights_in_use';
    if (!isLocked || file.added || options.mustStore) throw error;
    const beside = new WeightStore(new MemoryBackend(), this.#modelsUrl, this.#locks, '/', this.#rate);
    return beside.#fetch(file, options);
  }

  async #stored(file: WeightFile): Promise<StoredFile | null> {
    const blob = await this.#files.complete(file);
    if (!blob) return null;
    const from = (await this.#files.record(file))?.from ?? null;
    return { blob, from, intact: this.#checks.get(file.sha256) ?? this.#check(file, blob) };
  }

  #check(file: WeightFile, blob: Blob): Promise<boolean> {
    // An earlier state of a file that was repaired since cannot be read.
    const isIntact = this.#files.isIntact(file, blob).catch(() => false);
    const check = isIntact.then((intact) => intact || this.#locked(file, () => this.#files.repair(file)));
    this.#checks.set(file.sha256, check);
    const forget = (): unknown => this.#checks.delete(file.sha256);
    check.then((intact) => intact || forget(), forget);
    return check;
  }
}

function inUse({ path }: WeightFile): ServiceError {
  const message = `${path} is being written by another tab, perhaps of another app on this origin. Try again when its download has ended, or close that tab.`;
  return requestError(400, message, 'weights_in_use', 'target');
}
