import type { WeightFile } from '../catalog/catalog.ts';
import { abortable } from '../protocol/abort.ts';
import { badRequest } from '../protocol/engine-error.ts';
import { download } from './download/download.ts';
import { asStorageFull, storageFull, wrongHash } from './download/download-errors.ts';
import { PausableDownload } from './download/pausable-download.ts';
import { checkpointName, checkpointText, readCheckpoint } from './download/download-checkpoint.ts';
import { hashBlob } from './download/chunk-hash.ts';
import { intactChunks, parseRecord, recordName, recordText } from './integrity/integrity-record.ts';
import { SharedRuns } from './shared-runs.ts';
import { CHUNK_BYTES, readChunk, replace, type StorageBackend } from './backends/storage-backend.ts';
import { noteOf, pathNote, type StoredPath } from './backends/stored-path.ts';

/** One for the whole origin: all its apps share the files. */
const lockOf = ({ sha256 }: WeightFile): string => `localtext:weights:${sha256}`;

export interface FileOptions {
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
}

/** A stored file: usable at once, while its bytes are still being checked. */
export interface StoredFile {
  blob: Blob;
  /** True once the bytes have been found whole; false when they were not: those that are damaged have been dropped. */
  intact: Promise<boolean>;
}

/** The one place for weights below all engines. Files lie under their SHA-256, a record beside each whole one. */
export class WeightStore {
  readonly backend: StorageBackend;
  readonly #modelsUrl: string;
  readonly #locks: LockManager | null;
  readonly #scope: string;
  /** Names found whole in this worker's life. */
  readonly #checked = new Set<string>();
  readonly #busy = new Map<string, Promise<unknown>>();
  readonly #checking = new SharedRuns<boolean>();
  readonly #removing = new SharedRuns<void>();
  readonly #salvaging = new SharedRuns<void>();
  readonly #downloads = new Map<string, { download: PausableDownload; users: number }>();

  /** Files are common to all apps of the origin; paths and notes are those of the app of this scope. */
  constructor(backend: StorageBackend, modelsUrl: string, locks: LockManager | null = null, scope = '/') {
    this.backend = backend;
    this.#modelsUrl = modelsUrl;
    this.#locks = locks;
    this.#scope = scope;
  }

  /** Which of these files are not here whole yet. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(files.map((file) => this.#stored(file)));
    return files.filter((_, index) => stored[index] === null);
  }

  /** Bytes of a file that are here. */
  async storedBytes(file: WeightFile): Promise<number> {
    const blob = await this.#stored(file);
    if (blob) return file.bytes;
    const checkpoint = await readCheckpoint(this.backend, file.sha256, file.bytes);
    return Math.min(file.bytes, (checkpoint?.chunks.length ?? 0) * CHUNK_BYTES);
  }

  /** Bytes that are still to be stored for these files, and how many may be; null: unknown. */
  async room(files: readonly WeightFile[]): Promise<{ needed: number; free: number | null }> {
    // Of a part, too: it may have its whole room already.
    const blobs = await Promise.all(files.map(({ sha256 }) => this.backend.read(sha256)));
    const needed = files.reduce((sum, { bytes }, at) => sum + Math.max(0, bytes - (blobs[at]?.size ?? 0)), 0);
    return { needed, free: needed > 0 ? await this.backend.free() : null };
  }

  /**
   * The file's bytes; downloaded first when they are not here. One call a file downloads, in one tab; others wait
   * for it.
   * @throws EngineError `weights_unavailable`, `weights_corrupt`, `storage_full` or `download_cancelled`
   */
  async file(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    const entry = this.#downloads.get(file.sha256) ?? { download: new PausableDownload(), users: 0 };
    this.#downloads.set(file.sha256, entry);
    entry.users++;
    try {
      return await entry.download.run(options.signal, (signal) => this.#file(file, { ...options, signal }));
    } catch (error) {
      throw asStorageFull(error, `${file.path} (${file.bytes} bytes)`);
    } finally {
      entry.users--;
      if (entry.users === 0) this.#downloads.delete(file.sha256);
    }
  }

  /** Holds the downloads of these files that are under way; what has come is kept. */
  pause(files: readonly WeightFile[]): void {
    for (const { sha256 } of files) this.#downloads.get(sha256)?.download.pause();
  }

  resume(files: readonly WeightFile[]): void {
    for (const { sha256 } of files) this.#downloads.get(sha256)?.download.resume();
  }

  paused(files: readonly WeightFile[]): boolean {
    return files.some(({ sha256 }) => this.#downloads.get(sha256)?.download.paused);
  }

  /** Gives these downloads up, for all who wait, and drops what has come. Whole files stay. */
  async cancel(files: readonly WeightFile[]): Promise<void> {
    for (const { sha256 } of files) this.#downloads.get(sha256)?.download.cancel();
    await Promise.all(files.map(({ sha256 }) => this.#busy.get(sha256)));
    for (const file of await this.missing(files)) await this.remove(file);
  }

  /** Takes a file that comes from elsewhere than the network. @throws EngineError `weights_corrupt`, `storage_full` */
  async put(file: WeightFile, blob: Blob, signal: AbortSignal): Promise<void> {
    await this.#locked(file, signal, async () => {
      if (blob.size !== file.bytes) throw wrongHash(file);
      const { sha256, chunks } = await hashBlob(blob, signal);
      if (sha256 !== file.sha256) throw wrongHash(file);
      if (await this.#stored(file)) return this.#keepPath(file);
      const free = await this.backend.free();
      if (free !== null && free < file.bytes) throw storageFull(file.bytes, free, []);
      await this.remove(file);
      const writer = await this.backend.write(file.sha256);
      try {
        await writer.resize(file.bytes);
        for (const index of chunks.keys()) {
          signal.throwIfAborted();
          await writer.write(await readChunk(blob, index), index * CHUNK_BYTES);
        }
      } finally {
        await writer.close();
      }
      await this.#finish(file, chunks);
    }).catch((error: unknown) => {
      throw asStorageFull(error, `${file.path} (${file.bytes} bytes)`);
    });
  }

  /**
   * As `remove`, for one who asks for it: never while it is being written, here or by another app of the origin.
   * @throws EngineError 400 `weights_in_use`
   */
  async delete(file: WeightFile): Promise<void> {
    if (!this.#locks) return this.remove(file);
    await this.#locks.request(lockOf(file), { ifAvailable: true }, (lock) => {
      if (lock) return this.remove(file);
      const message = `${file.path} is being written, perhaps by another app on this origin. Try again when its download has ended.`;
      throw badRequest(message, 'target', 'weights_in_use');
    });
  }

  /** Called again meanwhile, it is done once. */
  remove(file: WeightFile): Promise<void> {
    return this.#removing.run(file.sha256, () => this.#remove(file));
  }

  async #remove(file: WeightFile): Promise<void> {
    this.#checked.delete(file.sha256);
    // The record first: should the tab die in between, what is left is a part and no lie.
    await this.backend.remove(recordName(file.sha256));
    await this.#removePath(file.path, file.sha256);
    await this.backend.remove(checkpointName(file.sha256));
    await this.backend.remove(file.sha256);
  }

  /** A small text of this app, kept beside the weights; null: none of that name. */
  async note(name: string): Promise<string | null> {
    return this.#read(await noteOf(this.#scope, name));
  }

  /** @throws EngineError `storage_full` */
  async keepNote(name: string, text: string): Promise<void> {
    try {
      await replace(this.backend, await noteOf(this.#scope, name), text);
    } catch (error) {
      throw asStorageFull(error, `a note about the weights (${text.length} bytes)`);
    }
  }

  async dropNote(name: string): Promise<void> {
    await this.backend.remove(await noteOf(this.#scope, name));
  }

  async #read(name: string): Promise<string | null> {
    return (await (await this.backend.read(name))?.text()) ?? null;
  }

  async #file(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    for (;;) {
      const blob = await this.#stored(file);
      if (blob) {
        await this.#keepPath(file).catch(() => undefined);
        return { blob, intact: this.#check(file, blob) };
      }
      const running = this.#busy.get(file.sha256);
      if (!running) break;
      await abortable(running, options.signal);
    }
    const fetched = this.#locked(file, options.signal, () => this.#fetch(file, options));
    this.#busy.set(
      file.sha256,
      fetched.catch(() => undefined).finally(() => this.#busy.delete(file.sha256)),
    );
    return { blob: await fetched, intact: Promise.resolve(true) };
  }

  /** A tab that is about to end and the next one may want the same file; another app of the origin too. */
  #locked<T>(file: WeightFile, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#locks) return work();
    return this.#locks.request(lockOf(file), { signal }, work) as Promise<T>;
  }

  async #stored(file: WeightFile): Promise<Blob | null> {
    const record = await this.backend.read(recordName(file.sha256));
    if (!record) return null;
    const blob = await this.backend.read(file.sha256);
    if (blob?.size === file.bytes) return blob;
    await this.#salvage(file);
    return null;
  }

  /** Called again meanwhile, it is done once. */
  #check(file: WeightFile, blob: Blob): Promise<boolean> {
    if (this.#checked.has(file.sha256)) return Promise.resolve(true);
    return this.#checking.run(file.sha256, () => this.#checkNow(file, blob));
  }

  async #checkNow(file: WeightFile, blob: Blob): Promise<boolean> {
    const record = parseRecord(await this.#read(recordName(file.sha256)), file.sha256);
    const intact = record ? await intactChunks(blob, record) : [];
    // The record itself may be damaged, or be an older version's: the hash of the whole file decides.
    if (intact.length === record?.chunks.length || (await this.#hashes(file, blob))) {
      this.#checked.add(file.sha256);
      return true;
    }
    await this.#salvage(file, intact);
    return false;
  }

  /**
   * Makes a damaged file a part to resume: its intact chunks stay, and the others alone are fetched again. Called again
   * meanwhile, it is done once: a second one would find the part's record open, and drop the file.
   * @param intact where they are known; else a file of the wrong length is examined
   */
  #salvage(file: WeightFile, intact?: number[]): Promise<void> {
    return this.#salvaging.run(file.sha256, () => this.#salvageNow(file, intact));
  }

  async #salvageNow(file: WeightFile, known?: number[]): Promise<void> {
    this.#checked.delete(file.sha256);
    const record = await this.backend.read(recordName(file.sha256));
    // Another caller may have found the damage too, and be fetching already.
    if (!record) return;
    const intact = known ?? (await this.#intactOfShort(file, record));
    if (intact === null) return;
    const kept =
      intact.length > 0 &&
      (await replace(
        this.backend,
        checkpointName(file.sha256),
        checkpointText({ version: null, chunks: intact }),
      ).then(
        () => true,
        () => false,
      ));
    if (kept) await this.backend.remove(recordName(file.sha256));
    else await this.remove(file);
  }

  /** null: the file has its length, as it was fetched again meanwhile. */
  async #intactOfShort(file: WeightFile, record: Blob): Promise<number[] | null> {
    const blob = await this.backend.read(file.sha256);
    if (blob?.size === file.bytes) return null;
    const parsed = blob && parseRecord(await record.text(), file.sha256);
    return parsed ? intactChunks(blob, parsed) : [];
  }

  async #hashes(file: WeightFile, blob: Blob, signal = new AbortController().signal): Promise<boolean> {
    const digest = await hashBlob(blob, signal).catch(() => null);
    signal.throwIfAborted();
    if (digest?.sha256 !== file.sha256) return false;
    // Without a new record it is hashed as a whole the next time, too.
    await this.#finish(file, digest.chunks).catch(() => undefined);
    return true;
  }

  async #fetch(file: WeightFile, options: FileOptions): Promise<Blob> {
    // Another tab may have downloaded it while this one waited.
    const existing = await this.#stored(file);
    if (existing) {
      await this.#keepPath(file).catch(() => undefined);
      return existing;
    }
    const unrecorded = await this.#unrecorded(file, options.signal);
    if (unrecorded) return unrecorded;
    const { needed, free } = await this.room([file]);
    if (free !== null && free < needed) throw storageFull(needed, free, []);
    const chunks = await download(this.backend, file, {
      ...options,
      url: new URL(file.url ?? file.path, this.#modelsUrl).href,
      name: file.sha256,
    });
    await this.#finish(file, chunks);
    const blob = await this.backend.read(file.sha256);
    if (!blob) throw new Error(`${file.path} was gone right after it had been stored`);
    this.#checked.add(file.sha256);
    return blob;
  }

  /** The file's bytes when they are whole, and only their integrity record has been lost. */
  async #unrecorded(file: WeightFile, signal: AbortSignal): Promise<Blob | null> {
    const blob = await this.backend.read(file.sha256);
    if (blob?.size !== file.bytes || (await this.backend.read(checkpointName(file.sha256)))) return null;
    if (!(await this.#hashes(file, blob, signal))) return null;
    this.#checked.add(file.sha256);
    return blob;
  }

  /** The record after the note: before it, the file does not count as whole. The part's record goes last. */
  async #finish(file: WeightFile, chunks: string[]): Promise<void> {
    const { path, bytes, sha256 } = file;
    await this.#keepPath(file);
    await replace(this.backend, recordName(sha256), recordText({ sha256, path, bytes, chunks }));
    await this.backend.remove(checkpointName(sha256));
  }

  /** Another app, or another version of this one, may have stored the file. */
  async #keepPath({ path, bytes, sha256 }: WeightFile): Promise<void> {
    const name = await pathNote(this.#scope, path);
    const text = JSON.stringify({ sha256, bytes } satisfies StoredPath);
    if ((await this.#read(name)) !== text) await replace(this.backend, name, text);
  }

  /** A newer version may lie at the path by now. */
  async #removePath(path: string, sha256: string): Promise<void> {
    const name = await pathNote(this.#scope, path);
    if ((await this.#read(name))?.includes(sha256)) await this.backend.remove(name);
  }
}
