import type { WeightFile } from '#catalog';
import {
  ConnectionError,
  dropBody,
  IdleTimeout,
  isQuotaError,
  MIN_PROGRESS_BYTES,
  Mutex,
  ServiceError,
  withRetries,
} from '#base';
import { CHUNK_BYTES } from '../backends/storage-backend.ts';
import { ChunkBuffers } from './chunk-buffers.ts';
import { sizeDiffers } from './download-errors.ts';
import type { PartialFile } from './partial-file.ts';
import {
  bodyReader,
  EndedEarlyError,
  requestPart,
  UnusableRangeError,
  type BodyReader,
} from './request-part.ts';

/** Message for a broken connection to a server that ignores ranges: the next attempt begins with the first byte. */
const NOT_RESUMABLE = 'the connection broke, and the server cannot continue a file (byte ranges)';

/** Number of connections per file, as one often does not use the full bandwidth. */
const CONNECTIONS = 4;

/**
 * `mixed`: chunks may be from different versions of the file, or torn. A new download may succeed. `misplaced`: the server
 * hid which ranges it sent. A download without ranges may succeed. `wrong`: none would.
 */
type Outcome = { chunks: string[] } | 'mixed' | 'misplaced' | 'wrong';

export interface TryOptions {
  url: string;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
  /** How long a connection may be idle, and a started download without new bytes, in milliseconds. */
  idleTimeoutMs?: number | undefined;
}

/** Fetches what is missing of a partial file, and compares its hash. */
export class DownloadTry {
  readonly #partial: PartialFile;
  readonly #file: WeightFile;
  readonly #options: TryOptions;
  readonly #chunks: ChunkBuffers;
  /** Bytes that were stored before. */
  readonly #resumed: number;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** Held by the connection that may receive the whole file. */
  readonly #alone = new Mutex();
  /** Whether to use one connection at a time: until a range has arrived, and after the server has ignored a range. */
  #isSingle = true;
  /** False once the server has answered a range with anything but the range or the whole file. */
  #sendsRanges: boolean;
  #hasHiddenRanges = false;
  #answers = 0;
  /** Bytes of the last whole answer that ended early: one of equal length is no broken connection. */
  #endedAt: number | null = null;
  #hasChanged = false;

  constructor(partial: PartialFile, file: WeightFile, options: TryOptions, triesRanges: boolean) {
    this.#partial = partial;
    this.#file = file;
    this.#options = options;
    this.#chunks = new ChunkBuffers(partial, file.bytes, options.onProgress);
    this.#resumed = partial.storedBytes;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    this.#sendsRanges = triesRanges;
  }

  /** Closes the partial file at the end, also after a failure. */
  async run(): Promise<Outcome> {
    try {
      this.#chunks.report();
      // The stored bytes are hashed meanwhile: gigabytes take 10 s and more.
      await this.#all([this.#partial.hashStored(this.#signal), this.#fetchMissing()]);
      await this.#partial.hashStored(this.#signal);
    } finally {
      await this.#partial.close();
    }
    const digest = await this.#partial.digest();
    if (digest.sha256 === this.#file.sha256) return { chunks: digest.chunks };
    if (this.#hasHiddenRanges) return 'misplaced';
    const mayMix =
      this.#resumed > 0 || this.#hasChanged || (this.#answers > 1 && this.#partial.version === null);
    return mayMix ? 'mixed' : 'wrong';
  }

  /** Waits for all of these parts of the download. If one fails, ends the others first. */
  async #all(parts: Promise<void>[]): Promise<void> {
    try {
      await Promise.all(parts);
    } catch (error) {
      this.#stop.abort(error);
      await Promise.allSettled(parts);
      throw error;
    }
  }

  /** Fetches missing chunks. The first is fetched alone, to find out whether the server supports ranges. */
  async #fetchMissing(): Promise<void> {
    const missing = this.#partial.missing();
    const first = missing.next();
    if (first.done) return;
    await this.#fetchWithRetries(first.value);
    const connection = async (): Promise<void> => {
      for (const index of missing) await this.#fetchWithRetries(index);
    };
    await this.#all(Array.from({ length: CONNECTIONS }, connection));
  }

  #fetchWithRetries(index: number): Promise<void> {
    return withRetries(() => this.#fetchChunk(index), {
      signal: this.#signal,
      // Bytes that arrive and cannot be stored are no progress.
      arrivedBytes: () => this.#partial.storedBytes - this.#resumed,
      isFinal: (error) => error instanceof ServiceError || isQuotaError(error),
      patienceMs: this.#options.idleTimeoutMs,
    });
  }

  async #fetchChunk(index: number): Promise<void> {
    if (!this.#isSingle && (await this.#request(index)) === 'stored') return;
    await this.#alone.run(async () => {
      this.#signal.throwIfAborted();
      // Another connection may have stored this chunk from a whole file that then broke off: continue with the next.
      const next = this.#partial.has(index) ? this.#partial.missing().next().value : index;
      if (next !== undefined) await this.#request(next, true);
    });
  }

  /**
   * Requests and stores the rest of a chunk, or all missing chunks if the server ignores the range.
   * @returns `whole` if only the whole file can be requested and nothing was stored, as other connections may be open
   */
  async #request(index: number, isAlone = false): Promise<'stored' | 'whole'> {
    if (this.#partial.has(index)) return 'stored';
    if (!this.#sendsRanges && !isAlone) return 'whole';
    try {
      return await this.#store(index, isAlone);
    } catch (error) {
      // A server that ends ranges so early supports none.
      const isShort = error instanceof EndedEarlyError && error.received < MIN_PROGRESS_BYTES;
      if (!isShort && !(error instanceof UnusableRangeError)) throw error;
      this.#sendsRanges = false;
      this.#isSingle = true;
      return isAlone ? this.#store(index, isAlone) : 'whole';
    }
  }

  async #store(index: number, isAlone: boolean): Promise<'stored' | 'whole'> {
    const { url, idleTimeoutMs } = this.#options;
    const timeout = new IdleTimeout(this.#signal, idleTimeoutMs);
    // Read once: another connection may store more of the chunk meanwhile, as a part of the whole file.
    const from = this.#partial.storedOf(index);
    const start = index * CHUNK_BYTES;
    const rest = { from: start + from, to: start + this.#partial.lengthOf(index) };
    const range = this.#sendsRanges && rest.to - rest.from < this.#file.bytes ? rest : null;
    const response = await requestPart(this.#file, url, range, timeout, () => this.#isSingle);
    this.#noteVersion(response);
    const isWhole = response.status === 200;
    this.#hasHiddenRanges ||= !isWhole && !response.headers.get('content-range');
    if (isWhole || isAlone) this.#isSingle = isWhole;
    if (isWhole && !isAlone) {
      dropBody(response);
      return 'whole';
    }
    this.#answers++;
    const reader = bodyReader(timeout.body(response));
    try {
      if (isWhole) await this.#storeWhole(reader, response.headers);
      else await this.#storeRest(reader, index, from);
      return 'stored';
    } finally {
      await reader.close();
    }
  }

  /**
   * Stores the rest of a chunk, from its byte `from` on. Reads the body to its end: otherwise the browser cancels the
   * request and does not reuse its connection.
   * @throws UnusableRangeError if the body is longer than the range that was requested
   */
  #storeRest(reader: BodyReader, index: number, from: number): Promise<void> {
    return this.#chunks.use(index, async (bytes) => {
      if (from > 0) bytes.set(await this.#partial.readStart(index));
      await this.#chunks.receive(reader, index, bytes, from);
      if (!(await reader.ended().catch(() => true))) throw new UnusableRangeError();
      await this.#partial.store(index, bytes, this.#signal);
    });
  }

  /** Stores the missing chunks of a whole file. Stops reading after the last of them. */
  async #storeWhole(reader: BodyReader, headers: Headers): Promise<void> {
    const { chunkCount } = this.#partial;
    const last = [...this.#partial.missing()].at(-1) ?? 0;
    try {
      for (let at = 0; at <= last; at++)
        await this.#chunks.use(at, async (bytes) => {
          await this.#chunks.receive(reader, at, bytes, 0);
          await this.#partial.store(at, bytes, this.#signal);
        });
    } catch (error) {
      const received = error instanceof EndedEarlyError ? error.received : null;
      const isWhole = headers.get('content-length') === String(received) || this.#endedAt === received;
      if (received !== null && isWhole) throw sizeDiffers(this.#file, `has ${received} bytes`);
      this.#endedAt = received;
      const hasBroken = received !== null || error instanceof TypeError;
      throw hasBroken && chunkCount > 1 ? new ConnectionError(NOT_RESUMABLE, { cause: error }) : error;
    }
    if (last === chunkCount - 1 && !(await reader.ended())) throw sizeDiffers(this.#file, 'is longer');
  }

  /**
   * Notes another `etag` or `last-modified`. The stored bytes stay: servers of one host differ in them, and a new
   * deployment changes them. Only the hash decides.
   */
  #noteVersion({ headers }: Response): void {
    const version = headers.get('etag') ?? headers.get('last-modified');
    this.#partial.version ??= version;
    this.#hasChanged ||= version !== null && version !== this.#partial.version;
  }
}
