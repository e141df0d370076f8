import type { WeightFile } from '../../catalog/catalog.ts';
import { abortable } from '../abort.ts';
import { download } from './download.ts';
import { storageFull, wrongHash } from './download-errors.ts';
import { Gate } from './gate.ts';
import { partBytes, partName } from './part-record.ts';
import { hashBlob } from './piece-hash.ts';
import { isIntact, readReceipt, receiptName, type Receipt } from './receipt.ts';
import { PIECE_BYTES, readPiece, replace, type Shelf } from './shelf.ts';
import { pathNote, type StoredPath } from './stored-path.ts';

export interface FileOptions {
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
}

/** A stored file: usable at once, while its bytes are still being checked. */
export interface StoredFile {
  blob: Blob;
  /** True once the bytes have been found whole; false when they were not, and have been dropped. */
  intact: Promise<boolean>;
}

/** The one place for weights below all engines. Files lie under their SHA-256, a receipt beside each whole one. */
export class WeightStore {
  readonly shelf: Shelf;
  readonly #modelsUrl: string;
  readonly #locks: LockManager | null;
  /** Names found whole in this worker's life. */
  readonly #checked = new Set<string>();
  readonly #busy = new Map<string, Promise<unknown>>();
  readonly #removing = new Map<string, Promise<void>>();
  readonly #gates = new Map<string, { gate: Gate; users: number }>();

  constructor(shelf: Shelf, modelsUrl: string, locks: LockManager | null = null) {
    this.shelf = shelf;
    this.#modelsUrl = modelsUrl;
    this.#locks = locks;
  }

  /** Which of these files are not here whole yet. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(files.map((file) => this.#stored(file)));
    return files.filter((_, index) => stored[index] === null);
  }

  /** Bytes of a file that are here. */
  async storedBytes(file: WeightFile): Promise<number> {
    const blob = await this.#stored(file);
    return blob ? file.bytes : partBytes(this.shelf, file.sha256, file.bytes);
  }

  /** Bytes that are still to be stored for these files, and how many may be; null: unknown. */
  async room(files: readonly WeightFile[]): Promise<{ needed: number; free: number | null }> {
    // Of a part, too: it may have its whole room already.
    const blobs = await Promise.all(files.map(({ sha256 }) => this.shelf.read(sha256)));
    const needed = files.reduce((sum, { bytes }, at) => sum + Math.max(0, bytes - (blobs[at]?.size ?? 0)), 0);
    return { needed, free: needed > 0 ? await this.shelf.free() : null };
  }

  /**
   * The file's bytes; downloaded first when they are not here. One call a file downloads, in one tab; others wait
   * for it.
   * @throws EngineError `weights_unavailable`, `weights_corrupt`, `storage_full` or `download_cancelled`
   */
  async file(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    const entry = this.#gates.get(file.sha256) ?? { gate: new Gate(), users: 0 };
    this.#gates.set(file.sha256, entry);
    entry.users++;
    try {
      return await entry.gate.pass(options.signal, (signal) => this.#file(file, { ...options, signal }));
    } finally {
      entry.users--;
      if (entry.users === 0) this.#gates.delete(file.sha256);
    }
  }

  /** Holds the downloads of these files that are under way; what has come is kept. */
  pause(files: readonly WeightFile[]): void {
    for (const { sha256 } of files) this.#gates.get(sha256)?.gate.pause();
  }

  resume(files: readonly WeightFile[]): void {
    for (const { sha256 } of files) this.#gates.get(sha256)?.gate.resume();
  }

  paused(files: readonly WeightFile[]): boolean {
    return files.some(({ sha256 }) => this.#gates.get(sha256)?.gate.paused);
  }

  /** Gives these downloads up, for all who wait, and drops what has come. Whole files stay. */
  async cancel(files: readonly WeightFile[]): Promise<void> {
    for (const { sha256 } of files) this.#gates.get(sha256)?.gate.cancel();
    await Promise.all(files.map(({ sha256 }) => this.#busy.get(sha256)));
    for (const file of await this.missing(files)) await this.remove(file);
  }

  /** Takes a file that comes from elsewhere than the network. @throws EngineError `weights_corrupt`, `storage_full` */
  async put(file: WeightFile, blob: Blob, signal: AbortSignal): Promise<void> {
    await this.#locked(file, signal, async () => {
      if (blob.size !== file.bytes) throw wrongHash(file);
      const { sha256, pieces } = await hashBlob(blob, signal);
      if (sha256 !== file.sha256) throw wrongHash(file);
      if (await this.#stored(file)) return;
      const free = await this.shelf.free();
      if (free !== null && free < file.bytes) throw storageFull(file.bytes, free, []);
      await this.remove(file);
      const writer = await this.shelf.write(file.sha256);
      try {
        await writer.resize(file.bytes);
        for (const index of pieces.keys()) {
          signal.throwIfAborted();
          await writer.write(await readPiece(blob, index), index * PIECE_BYTES);
        }
      } finally {
        await writer.close();
      }
      await this.#finish(file, pieces);
    });
  }

  /** Called again meanwhile, it is done once. */
  remove(file: WeightFile): Promise<void> {
    const before = this.#removing.get(file.sha256);
    if (before) return before;
    const removing = this.#remove(file).finally(() => this.#removing.delete(file.sha256));
    this.#removing.set(file.sha256, removing);
    return removing;
  }

  async #remove(file: WeightFile): Promise<void> {
    this.#checked.delete(file.sha256);
    // The receipt first: should the tab die in between, what is left is a part and no lie.
    await this.shelf.remove(receiptName(file.sha256));
    await this.#removePath(file.path, file.sha256);
    await this.shelf.remove(partName(file.sha256));
    await this.shelf.remove(file.sha256);
  }

  /** A small text kept beside the weights; null: none of that name. */
  async note(name: string): Promise<string | null> {
    return (await (await this.shelf.read(name))?.text()) ?? null;
  }

  async keepNote(name: string, text: string): Promise<void> {
    await replace(this.shelf, name, text);
  }

  async #file(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    for (;;) {
      const blob = await this.#stored(file);
      if (blob) return { blob, intact: this.#check(file, blob) };
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

  /** A tab that is about to end and the next one may want the same file. */
  #locked<T>({ sha256 }: WeightFile, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#locks) return work();
    return this.#locks.request(`localtext:weights:${sha256}`, { signal }, work) as Promise<T>;
  }

  async #stored(file: WeightFile): Promise<Blob | null> {
    if (!(await this.shelf.read(receiptName(file.sha256)))) return null;
    const blob = await this.shelf.read(file.sha256);
    if (blob?.size === file.bytes) return blob;
    // Somebody else may have found that too, and be fetching it anew.
    if (await this.shelf.read(receiptName(file.sha256))) await this.remove(file);
    return null;
  }

  async #check(file: WeightFile, blob: Blob): Promise<boolean> {
    if (this.#checked.has(file.sha256)) return true;
    const receipt = readReceipt(await this.note(receiptName(file.sha256)));
    // One that does not tell of the pieces was written by an older version.
    const checking = receipt ? isIntact(blob, receipt) : this.#hashes(file, blob);
    const intact = await checking.catch(() => false);
    if (intact) this.#checked.add(file.sha256);
    else await this.remove(file);
    return intact;
  }

  async #hashes(file: WeightFile, blob: Blob): Promise<boolean> {
    const { sha256, pieces } = await hashBlob(blob, new AbortController().signal);
    if (sha256 !== file.sha256) return false;
    // Without a new receipt it is hashed as a whole the next time, too.
    await this.#finish(file, pieces).catch(() => undefined);
    return true;
  }

  async #fetch(file: WeightFile, options: FileOptions): Promise<Blob> {
    // Another tab may have brought it while this one stood in line.
    const brought = await this.#stored(file);
    if (brought) return brought;
    const { needed, free } = await this.room([file]);
    if (free !== null && free < needed) throw storageFull(needed, free, []);
    const pieces = await download(this.shelf, file, {
      ...options,
      url: new URL(file.url ?? file.path, this.#modelsUrl).href,
      name: file.sha256,
    });
    await this.#finish(file, pieces);
    const blob = await this.shelf.read(file.sha256);
    if (!blob) throw new Error(`${file.path} was gone right after it had been stored`);
    this.#checked.add(file.sha256);
    return blob;
  }

  /** The receipt last: before it, the file does not count as whole. */
  async #finish({ path, bytes, sha256 }: WeightFile, pieces: string[]): Promise<void> {
    const note: StoredPath = { sha256, bytes };
    const receipt: Receipt = { path, bytes, pieces };
    await replace(this.shelf, await pathNote(path), JSON.stringify(note));
    await replace(this.shelf, receiptName(sha256), JSON.stringify(receipt));
  }

  /** A newer version may lie at the path by now. */
  async #removePath(path: string, sha256: string): Promise<void> {
    const name = await pathNote(path);
    if ((await this.note(name))?.includes(sha256)) await this.shelf.remove(name);
  }
}
