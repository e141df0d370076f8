import type { WeightFile } from '../../catalog/catalog.ts';
import { delay } from '../../protocol/abort.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import { checkResponse } from './check-response.ts';
import { downloadFailed, isQuotaError, sizeDiffers, wrongHash } from './download-errors.ts';
import { ChunkHash } from './chunk-hash.ts';
import {
  checkpointName,
  checkpointText,
  readCheckpoint,
  type DownloadCheckpoint,
} from './download-checkpoint.ts';
import { ChunkReader } from './chunk-reader.ts';
import { MAX_ATTEMPTS, pauseBeforeRetry } from './retry.ts';
import {
  CHUNK_BYTES,
  overwrite,
  type StorageBackend,
  type BackendWriter,
} from '../backends/storage-backend.ts';
import { IdleTimeout } from './idle-timeout.ts';

/** At once, for a file of many chunks: one often gets less than the line can carry. */
const CONNECTIONS = 4;

export interface DownloadOptions {
  url: string;
  /** Under which the bytes lie on the backend. */
  name: string;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
  /** How long a connection may deliver nothing, in milliseconds. */
  idleTimeoutMs?: number | undefined;
}

/**
 * Downloads a file to the backend, going on from the chunks that are there, over several connections where the server
 * gives parts, and checks its hash as it comes. What has come stays when it is aborted, with its record, which the
 * caller removes once the file is recorded as whole.
 * @returns the SHA-256 of each chunk, in hex
 * @throws EngineError; the signal's reason
 */
export async function download(
  backend: StorageBackend,
  file: WeightFile,
  options: DownloadOptions,
): Promise<string[]> {
  let running: Download | null = null;
  try {
    const first = (running = await Download.open(backend, file, options));
    const outcome = await first.run();
    if (typeof outcome === 'object') return outcome.chunks;
    // The file may have changed on the server since a part came, or that part was torn: once more, from nothing.
    await forget(backend, options.name);
    if (outcome === 'wrong' && first.isOneVersion) throw wrongHash(file);
    // A server of several machines may give each its own version: from here on the hash alone decides.
    running = await Download.open(backend, file, options, { anyVersion: true });
    const second = await running.run();
    if (typeof second === 'object') return second.chunks;
    await forget(backend, options.name);
    throw wrongHash(file);
  } catch (error) {
    options.signal.throwIfAborted();
    throw downloadFailed(file, error, running?.keptBytes ?? 0);
  }
}

async function forget(backend: StorageBackend, name: string): Promise<void> {
  await backend.remove(checkpointName(name));
  await backend.remove(name);
}

/** The chunks' hashes of a file that is whole. */
type Outcome = { chunks: string[] } | 'changed' | 'wrong';

class Changed extends Error {}

interface DownloadParts {
  backend: StorageBackend;
  file: WeightFile;
  options: DownloadOptions;
  writer: BackendWriter;
  hash: ChunkHash;
  record: DownloadCheckpoint | null;
  anyVersion: boolean;
}

class Download {
  readonly #resumed: boolean;
  readonly #backend: StorageBackend;
  readonly #file: WeightFile;
  readonly #options: DownloadOptions;
  readonly #writer: BackendWriter;
  readonly #hash: ChunkHash;
  readonly #count: number;
  readonly #taken = new Set<number>();
  readonly #done: Set<number>;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #anyVersion: boolean;
  /** Of the file on the server. */
  #version: string | null;
  /** Bytes of chunks under way. */
  #flying = 0;
  #reported = 0;
  #keeping: Promise<void> = Promise.resolve();
  /** Opened once: Chromium at times never opens a file that was closed a moment before. */
  #part: BackendWriter | null = null;

  static async open(
    backend: StorageBackend,
    file: WeightFile,
    options: DownloadOptions,
    { anyVersion = false } = {},
  ): Promise<Download> {
    const record = await readCheckpoint(backend, options.name, file.bytes);
    // Bytes that nothing is known of are no help.
    if (!record) await forget(backend, options.name);
    const writer = await backend.write(options.name);
    try {
      await writer.resize(file.bytes);
    } catch (error) {
      await writer.close();
      if (!record) await forget(backend, options.name);
      throw error;
    }
    return new Download({
      backend,
      file,
      options,
      writer,
      hash: await ChunkHash.create(),
      record,
      anyVersion,
    });
  }

  private constructor({ backend, file, options, writer, hash, record, anyVersion }: DownloadParts) {
    this.#backend = backend;
    this.#file = file;
    this.#options = options;
    this.#writer = writer;
    this.#hash = hash;
    this.#anyVersion = anyVersion;
    this.#count = Math.ceil(file.bytes / CHUNK_BYTES);
    this.#done = new Set(record?.chunks);
    this.#version = record?.version ?? null;
    this.#resumed = this.#done.size > 0;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  async run(): Promise<Outcome> {
    try {
      await this.#hash.advance(this.#done, (index) => this.#stored(index), this.#signal);
      this.#report();
      await this.#lane(true);
      await this.#hash.advance(this.#done, (index) => this.#stored(index), this.#signal);
    } catch (error) {
      if (error instanceof Changed) return 'changed';
      throw error;
    } finally {
      await this.#writer.close();
      // What has come is worth going on from.
      if (this.#done.size < this.#count) this.#keep().catch(() => undefined);
      await this.#keeping.catch(() => undefined);
      await this.#part?.close();
    }
    const { sha256, chunks } = await this.#hash.digest();
    return sha256 === this.#file.sha256 ? { chunks } : 'wrong';
  }

  /** Downloads one chunk after another; the first lane opens the others once the server has shown that it gives parts. */
  async #lane(first: boolean): Promise<void> {
    const others: Promise<void>[] = [];
    try {
      for (let index = this.#next(); index !== null; index = this.#next()) {
        const whole = await this.#fetchWithRetries(index);
        if (whole || !first || others.length > 0) continue;
        const lanes = Math.min(CONNECTIONS, this.#count - this.#done.size + 1) - 1;
        for (let count = 0; count < lanes; count++) {
          const lane = this.#lane(false);
          lane.catch(() => undefined);
          others.push(lane);
        }
      }
      await Promise.all(others);
    } catch (error) {
      this.#stop.abort(error);
      await Promise.allSettled(others);
      throw error;
    }
  }

  #next(): number | null {
    for (let index = 0; index < this.#count; index++) {
      if (this.#done.has(index) || this.#taken.has(index)) continue;
      this.#taken.add(index);
      return index;
    }
    return null;
  }

  /** True when the answer was the whole file, which no range can be asked of. */
  async #fetchWithRetries(index: number): Promise<boolean> {
    for (let failures = 0; ;) {
      const before = this.#done.size;
      try {
        return await this.#fetchChunk(index);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (error instanceof EngineError || error instanceof Changed || isQuotaError(error)) throw error;
        if (this.#done.has(index)) return false;
        failures = this.#done.size > before ? 1 : failures + 1;
        if (failures >= MAX_ATTEMPTS) throw error;
        await delay(pauseBeforeRetry(failures, error), this.#signal);
      }
    }
  }

  async #fetchChunk(index: number): Promise<boolean> {
    const from = index * CHUNK_BYTES;
    const watch = new IdleTimeout(this.#signal, this.#options.idleTimeoutMs);
    const asked = fetch(this.#options.url, {
      signal: watch.signal,
      // The store is the only copy: the HTTP cache would keep another.
      cache: 'no-store',
      headers: this.#count > 1 ? { range: `bytes=${from}-${from + this.#length(index) - 1}` } : {},
    });
    const response = await watch.during(asked);
    await checkResponse(this.#file, response, { from, to: from + this.#length(index) });
    this.#checkVersion(response);
    if (!response.body) throw new Error('the answer has no body');
    const reader = new ChunkReader(response.body, watch, (bytes) => this.#fly(bytes));
    try {
      if (response.status === 206) {
        await this.#storeChunk(index, await reader.chunk(this.#length(index)));
        return false;
      }
      for (let at = 0; at < this.#count; at++) {
        const bytes = await reader.chunk(this.#length(at));
        if (this.#done.has(at)) this.#flying -= bytes.length;
        else await this.#storeChunk(at, bytes);
      }
      if (!(await reader.ended())) throw sizeDiffers(this.#file, 'is longer');
      return true;
    } finally {
      this.#flying -= reader.partial;
      await reader.close();
    }
  }

  /** Without either header the hash alone tells. */
  #checkVersion({ headers }: Response): void {
    const version = headers.get('etag') ?? headers.get('last-modified');
    if (!this.#anyVersion && this.#version !== null && version !== null && version !== this.#version) {
      throw new Changed('the file has changed on the server');
    }
    this.#version ??= version;
  }

  /** All bytes are of one answer, or of one version as the server names it: a wrong hash will be wrong again. */
  get isOneVersion(): boolean {
    return !this.#resumed && (this.#count === 1 || this.#version !== null);
  }

  async #storeChunk(index: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#flying -= bytes.length;
    await this.#writer.write(bytes, index * CHUNK_BYTES);
    this.#done.add(index);
    this.#report();
    await this.#hash.advance(this.#done, (at) => this.#stored(at), this.#signal, { index, bytes });
    if (this.#count > 1) {
      await this.#writer.flush();
      await this.#keep();
    }
  }

  /** One after the other: lanes end in any order. */
  #keep(): Promise<void> {
    this.#keeping = this.#keeping.then(() => this.#keepNow());
    return this.#keeping;
  }

  async #keepNow(): Promise<void> {
    this.#part ??= await this.#backend.write(checkpointName(this.#options.name));
    await overwrite(this.#part, checkpointText({ version: this.#version, chunks: [...this.#done] }));
  }

  #stored(index: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#writer.read(index * CHUNK_BYTES, this.#length(index));
  }

  #length(index: number): number {
    return Math.min(CHUNK_BYTES, this.#file.bytes - index * CHUNK_BYTES);
  }

  #fly(bytes: number): void {
    this.#flying += bytes;
    this.#report();
  }

  /** Bytes that are on the backend, to go on from. */
  get keptBytes(): number {
    let sum = 0;
    for (const index of this.#done) sum += this.#length(index);
    return sum;
  }

  #report(): void {
    const sum = this.keptBytes + this.#flying;
    this.#reported = Math.max(this.#reported, Math.min(sum, this.#file.bytes));
    this.#options.onProgress(this.#reported);
  }
}
