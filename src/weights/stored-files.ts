import type { WeightFile } from '#catalog';
import {
  cannotRead,
  claimName,
  noteOf,
  readSmallFile,
  recordName,
  replace,
  type StorageBackend,
} from './backends/storage-backend.ts';
import { asStorageFull, sizeDiffers } from './download/download-errors.ts';
import {
  checkpointBytes,
  checkpointName,
  type DownloadCheckpoint,
  readCheckpoint,
} from './download/partial-file.ts';
import { hashBlob, intactChunks, parseRecord, type IntegrityRecord } from './integrity/integrity-record.ts';

/**
 * Files in the backend, named by their SHA-256, with an integrity record beside each complete file.
 * All apps of the origin share the files; claims and notes belong to one app. The caller must hold a
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

  /** Whether all bytes have the hashes in the record. */
  async isIntact(file: WeightFile, blob: Blob): Promise<boolean> {
    const record = await this.record(file);
    return record !== null && (await intactChunks(blob, record)).length === record.chunks.length;
  }

  /**
   * Writes a record for sound bytes without a valid one, and turns a damaged file into a partial download that keeps the
   * intact chunks.
   * @returns whether the file is complete
   * @throws ServiceError `weights_corrupt` if the file with this hash has another size; `storage_failed` if it cannot be read
   */
  async repair(file: WeightFile, signal?: AbortSignal): Promise<boolean> {
    const { sha256, bytes } = file;
    const isRecorded = (await this.#backend.read(recordName(sha256))) !== null;
    if (!isRecorded && (await this.#backend.read(checkpointName(sha256)))) return false;
    const record = await this.record(file);
    const blob = await this.#backend.read(sha256);
    requireSize(file, record, blob);
    const fail = (error: unknown): never => {
      signal?.throwIfAborted();
      throw cannotRead(file.path, error);
    };
    const chunks = blob && record ? await intactChunks(blob, record).catch(fail) : [];
    if (blob?.size === bytes) {
      if (chunks.length === record?.chunks.length) return true;
      const all = await hashBlob(blob, signal).catch(fail);
      const isSound = all.sha256 === sha256;
      // The bytes are complete even if there is no space for a new record.
      if (isSound) await this.finish(file, all.chunks, record?.from).catch(() => undefined);
      if (isSound) return true;
    }
    if (isRecorded) await this.#keepChunks(file, chunks);
    return false;
  }

  /** Turns a file into a partial download of these chunks. Without any, or space for their list, nothing stays. */
  async #keepChunks(file: WeightFile, chunks: number[]): Promise<void> {
    const checkpoint: DownloadCheckpoint = { version: null, chunks, parts: [] };
    try {
      if (chunks.length === 0) throw new Error('no chunk is intact');
      await replace(this.#backend, checkpointName(file.sha256), JSON.stringify(checkpoint));
    } catch {
      return this.#remove(file);
    }
    await this.#backend.remove(recordName(file.sha256));
  }

  /** Marks a file as complete: writes the record, then removes the checkpoint. */
  async finish(file: WeightFile, chunks: string[], from: string | null = null): Promise<void> {
    const { path, bytes, sha256 } = file;
    const text = JSON.stringify({ sha256, path, bytes, chunks, from } satisfies IntegrityRecord);
    await replace(this.#backend, recordName(sha256), text);
    await this.#backend.remove(checkpointName(sha256));
  }

  /** Marks a file that the user brought to this app. Other apps do not delete it: the copy may be the only one. */
  async claim(file: WeightFile): Promise<void> {
    const name = await noteOf(this.#scope, claimName(file.sha256));
    if (!(await this.isClaimed(file))) await replace(this.#backend, name, '{}');
  }

  /** Whether the user brought the file to this app. */
  async isClaimed({ sha256 }: WeightFile): Promise<boolean> {
    return (await this.#backend.read(await noteOf(this.#scope, claimName(sha256)))) !== null;
  }

  /** Removes a file, unless another app claims it, and then this app's claim. */
  async release(file: WeightFile): Promise<void> {
    const name = claimName(file.sha256);
    const own = await noteOf(this.#scope, name);
    const claims = await this.#backend.names(name);
    if (claims.every((claim) => claim === own)) await this.#remove(file);
    await this.#backend.remove(own);
  }

  /** Removes a file, its record first: if the tab ends in between, the rest counts as incomplete. */
  async #remove({ sha256 }: WeightFile): Promise<void> {
    await this.#backend.remove(recordName(sha256));
    await this.#backend.remove(checkpointName(sha256));
    await this.#backend.remove(sha256);
  }

  /** Reads one of this app's notes, a small JSON value; null if there is none, or if it is damaged. */
  async note(name: string): Promise<unknown> {
    return readSmallFile(this.#backend, await noteOf(this.#scope, name));
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
    return parseRecord(await readSmallFile(this.#backend, recordName(sha256)), sha256);
  }
}

function requireSize(file: WeightFile, record: IntegrityRecord | null, blob: Blob | null): void {
  if (blob && blob.size === record?.bytes && blob.size !== file.bytes)
    throw sizeDiffers(file, `has ${blob.size} bytes`);
}
