import type { WeightFile } from '#catalog';
import {
  claimName,
  noteOf,
  pathNote,
  readSmallFile,
  recordName,
  replace,
  type StorageBackend,
  type StoredPath,
} from './backends/storage-backend.ts';
import { asStorageFull } from './download/download-errors.ts';
import {
  checkpointBytes,
  checkpointName,
  type DownloadCheckpoint,
  readCheckpoint,
} from './download/partial-file.ts';
import { hashBlob, intactChunks, parseRecord, type IntegrityRecord } from './integrity/integrity-record.ts';

/**
 * Files in the backend, named by their SHA-256, with an integrity record beside each complete file.
 * All apps of the origin share the files; paths, claims and notes belong to one app. The caller must hold a
 * file's lock while it changes the file.
 */
export class StoredFiles {
  readonly #backend: StorageBackend;
  readonly #scope: string;

  constructor(backend: StorageBackend, scope: string) {
    this.#backend = backend;
    this.#scope = scope;
  }

  /** Reads a complete file; null if it is incomplete. */
  async complete({ sha256, bytes }: WeightFile): Promise<Blob | null> {
    if (!(await this.#backend.read(recordName(sha256)))) return null;
    const blob = await this.#backend.read(sha256);
    return blob?.size === bytes ? blob : null;
  }

  async storedBytes({ sha256, bytes }: WeightFile): Promise<number> {
    // Check the checkpoint first: `finish()` writes the record before it removes the checkpoint.
    const checkpoint = await readCheckpoint(this.#backend, sha256, bytes);
    if (checkpoint) return checkpointBytes(checkpoint, bytes);
    if (!(await this.#backend.read(recordName(sha256)))) return 0;
    return Math.min(bytes, (await this.#backend.read(sha256))?.size ?? 0);
  }

  /**
   * Verifies the bytes against the record. Without a valid one, hashes the whole file.
   * @returns whether they are intact; the hashes of their chunks, if they lack a valid record
   */
  async verify(file: WeightFile, blob: Blob): Promise<boolean | string[]> {
    const record = await this.record(file);
    if (record && (await intactChunks(blob, record)).length === record.chunks.length) return true;
    return (await chunksIfSound(file, blob).catch(() => null)) ?? false;
  }

  /** Replaces an invalid record, unless the file has been deleted. */
  async recordAgain(file: WeightFile, chunks: string[]): Promise<void> {
    if (await this.complete(file)) await this.finish(file, chunks, (await this.record(file))?.from);
  }

  /** Returns the chunk hashes of a complete file that only lacks its record; null if it must be downloaded. */
  async unrecorded(file: WeightFile, signal: AbortSignal): Promise<string[] | null> {
    const blob = await this.#backend.read(file.sha256);
    if (blob?.size !== file.bytes || (await this.#backend.read(checkpointName(file.sha256)))) return null;
    const chunks = await chunksIfSound(file, blob, signal).catch(() => null);
    signal.throwIfAborted();
    return chunks;
  }

  /** Turns a damaged file back into a partial download that keeps the intact chunks. */
  async salvage(file: WeightFile): Promise<void> {
    const { sha256, bytes } = file;
    if (!(await this.#backend.read(recordName(sha256)))) return;
    const record = await this.record(file);
    const blob = await this.#backend.read(sha256);
    const chunks = blob && record ? await intactChunks(blob, record) : [];
    // The file was downloaded again in the meantime.
    if (blob?.size === bytes && chunks.length === record?.chunks.length) return;
    const kept =
      chunks.length > 0 &&
      (await replace(
        this.#backend,
        checkpointName(sha256),
        JSON.stringify({ version: null, chunks, parts: [] } satisfies DownloadCheckpoint),
      ).then(
        () => true,
        () => false,
      ));
    if (kept) await this.#backend.remove(recordName(sha256));
    else await this.#remove(file);
  }

  /** Marks a file as complete: writes the path note, then the record, then removes the checkpoint. */
  async finish(file: WeightFile, chunks: string[], from: string | null = null): Promise<void> {
    const { path, bytes, sha256 } = file;
    await this.keepPath(file);
    const text = JSON.stringify({ sha256, path, bytes, chunks, from } satisfies IntegrityRecord);
    await replace(this.#backend, recordName(sha256), text);
    await this.#backend.remove(checkpointName(sha256));
  }

  /** Marks a file that the user brought to this app. Other apps do not delete it: the copy may be the only one. */
  async claim({ sha256 }: WeightFile): Promise<void> {
    const name = await noteOf(this.#scope, claimName(sha256));
    if (!(await this.#backend.read(name))) await replace(this.#backend, name, '{}');
  }

  /** Removes a file, unless another app claims it, and then this app's claim. */
  async release(file: WeightFile): Promise<void> {
    const own = await noteOf(this.#scope, claimName(file.sha256));
    const claims = await this.#backend.names(claimName(file.sha256));
    if (claims.every((name) => name === own)) await this.#remove(file);
    else await this.#dropPath(file);
    await this.#backend.remove(own);
  }

  /** Removes a file, its record first: if the tab ends in between, the rest counts as incomplete. */
  async #remove(file: WeightFile): Promise<void> {
    await this.#backend.remove(recordName(file.sha256));
    await this.#dropPath(file);
    await this.#backend.remove(checkpointName(file.sha256));
    await this.#backend.remove(file.sha256);
  }

  async #dropPath({ path, sha256 }: WeightFile): Promise<void> {
    const note = await pathNote(this.#scope, path);
    // A newer version may use the path by now.
    if ((await this.#read(note))?.includes(sha256)) await this.#backend.remove(note);
  }

  /** Maps the file's path to its hash: another app, or another version of this app, may have stored the file. */
  async keepPath({ path, bytes, sha256 }: WeightFile): Promise<void> {
    const name = await pathNote(this.#scope, path);
    const text = JSON.stringify({ sha256, bytes } satisfies StoredPath);
    if ((await this.#read(name)) !== text) await replace(this.#backend, name, text);
  }

  /** Reads one of this app's notes, a small text; null if there is none. */
  async note(name: string): Promise<string | null> {
    return this.#read(await noteOf(this.#scope, name));
  }

  /** @throws ServiceError `storage_full` */
  async keepNote(name: string, text: string): Promise<void> {
    try {
      await replace(this.#backend, await noteOf(this.#scope, name), text);
    } catch (error) {
      throw asStorageFull(error, `a note about the weights (${text.length} bytes)`);
    }
  }

  async dropNote(name: string): Promise<void> {
    await this.#backend.remove(await noteOf(this.#scope, name));
  }

  /** Reads the integrity record; null if it is missing or invalid. */
  async record({ sha256 }: WeightFile): Promise<IntegrityRecord | null> {
    return parseRecord(await this.#read(recordName(sha256)), sha256);
  }

  #read(name: string): Promise<string | null> {
    return readSmallFile(this.#backend, name);
  }
}

async function chunksIfSound(file: WeightFile, blob: Blob, signal?: AbortSignal): Promise<string[] | null> {
  const { sha256, chunks } = await hashBlob(blob, signal);
  return sha256 === file.sha256 ? chunks : null;
}
