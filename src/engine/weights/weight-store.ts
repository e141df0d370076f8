import type { WeightFile } from '../../catalog/catalog.ts';
import { EngineError } from '../engine-error.ts';
import { download } from './download.ts';
import { hashBlob, sha256 } from './hash.ts';
import type { Shelf } from './shelf.ts';

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
  readonly #shelf: Shelf;
  readonly #modelsUrl: string;
  /** Names found whole in this worker's life. */
  readonly #checked = new Set<string>();
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(shelf: Shelf, modelsUrl: string) {
    this.#shelf = shelf;
    this.#modelsUrl = modelsUrl;
  }

  /** Which of these files are not here whole yet. */
  async missing(files: readonly WeightFile[]): Promise<WeightFile[]> {
    const stored = await Promise.all(files.map((file) => this.#stored(file)));
    return files.filter((_, index) => stored[index] === null);
  }

  /**
   * The file's bytes; downloaded first when they are not here. One call a file downloads, others wait for it.
   * @throws EngineError `weights_unavailable`, `weights_corrupt` or `storage_full`
   */
  async file(file: WeightFile, options: FileOptions): Promise<StoredFile> {
    for (let running = this.#busy.get(file.sha256); running; running = this.#busy.get(file.sha256)) {
      await running;
      options.signal.throwIfAborted();
    }
    const blob = await this.#stored(file);
    if (blob) return { blob, intact: this.#check(file, blob) };

    const fetched = this.#fetch(file, options);
    this.#busy.set(
      file.sha256,
      fetched.catch(() => undefined).finally(() => this.#busy.delete(file.sha256)),
    );
    return { blob: await fetched, intact: Promise.resolve(true) };
  }

  async remove(file: WeightFile): Promise<void> {
    this.#checked.delete(file.sha256);
    // The receipt first: should the tab die in between, what is left is a part and no lie.
    await this.#shelf.remove(receipt(file));
    await this.#shelf.remove(file.sha256);
  }

  /** A small text kept beside the weights; null: none of that name. */
  async note(name: string): Promise<string | null> {
    return (await (await this.#shelf.read(name))?.text()) ?? null;
  }

  async keepNote(name: string, text: string): Promise<void> {
    await this.#shelf.remove(name);
    const writer = await this.#shelf.write(name, 0);
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  }

  async #stored(file: WeightFile): Promise<Blob | null> {
    if (!(await this.#shelf.read(receipt(file)))) return null;
    const blob = await this.#shelf.read(file.sha256);
    if (blob?.size === file.bytes) return blob;
    await this.remove(file);
    return null;
  }

  async #check(file: WeightFile, blob: Blob): Promise<boolean> {
    if (this.#checked.has(file.sha256)) return true;
    const hash = await sha256();
    const intact = await hashBlob(hash, blob).then(
      () => hash.digest() === file.sha256,
      () => false,
    );
    if (intact) this.#checked.add(file.sha256);
    else await this.remove(file);
    return intact;
  }

  async #fetch(file: WeightFile, options: FileOptions): Promise<Blob> {
    const have = (await this.#shelf.read(file.sha256))?.size ?? 0;
    const free = await this.#shelf.free();
    const needed = file.bytes - Math.min(have, file.bytes);
    if (free !== null && free < needed) {
      throw new EngineError({
        code: 'storage_full',
        message: `${file.path} needs ${needed} bytes more and the browser lets this site store ${Math.max(0, free)}. Free space on the device, or use a smaller model.`,
      });
    }
    await download(this.#shelf, file, {
      ...options,
      url: new URL(file.url ?? file.path, this.#modelsUrl).href,
      name: file.sha256,
    });
    const blob = await this.#shelf.read(file.sha256);
    if (!blob) throw new Error(`${file.path} was gone right after it had been stored`);
    const writer = await this.#shelf.write(receipt(file), 0);
    await writer.write(new TextEncoder().encode(JSON.stringify({ path: file.path, bytes: file.bytes })));
    await writer.close();
    this.#checked.add(file.sha256);
    return blob;
  }
}

const receipt = (file: WeightFile): string => `${file.sha256}.json`;
