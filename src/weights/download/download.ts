import type { WeightFile } from '#catalog';
import {
  ServiceError,
  Mutex,
  IdleTimeout,
  isTransient,
  TransientStatusError,
  UnreachableError,
  withRetries,
  WrongRangeError,
} from '#base';
import { CHUNK_BYTES, type StorageBackend } from '../backends/storage-backend.ts';
import { ChunkReader } from './chunk-reader.ts';
import {
  downloadFailed,
  isQuotaError,
  sizeDiffers,
  unavailable,
  webPage,
  wrongHash,
} from './download-errors.ts';
import { discardPartial, PartialFile } from './partial-file.ts';

/** Number of connections per file, as one often does not use the full bandwidth. */
const CONNECTIONS = 4;

export interface DownloadOptions {
  url: string;
  /** Name of the file in the backend. */
  name: string;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
  /** How long a connection may be idle, in milliseconds. */
  idleTimeoutMs?: number | undefined;
}

/**
 * Downloads a file to the backend and hashes it as it arrives. Resumes after the stored chunks, and uses several
 * connections if the server supports ranges. After an abort the stored chunks and their checkpoint remain. The
 * caller removes the checkpoint once the file is recorded as complete.
 * @returns the SHA-256 of each chunk, in hex
 * @throws ServiceError; the signal's reason
 */
export async function download(
  backend: StorageBackend,
  file: WeightFile,
  options: DownloadOptions,
): Promise<string[]> {
  let keptBytes = 0;
  try {
    // Servers behind a load balancer may report different versions. The second round ignores
    // versions; only the hash decides.
    for (const acceptVersions of [false, true]) {
      const partial = await PartialFile.open(backend, options.name, file.bytes);
      const outcome = await new Download(partial, file, options, acceptVersions).run().finally(() => {
        keptBytes = partial.storedBytes;
      });
      if (typeof outcome === 'object') return outcome.chunks;
      await discardPartial(backend, options.name);
      if (outcome === 'wrong') break;
    }
    throw wrongHash(file);
  } catch (error) {
    options.signal.throwIfAborted();
    throw downloadFailed(file, error, keptBytes);
  }
}

/** `mixed`: chunks may be from different versions of the file, or torn. A new download may succeed. `wrong`: it would not. */
type Outcome = { chunks: string[] } | 'mixed' | 'wrong';

class VersionChangedError extends Error {}

class Download {
  readonly #partial: PartialFile;
  readonly #file: WeightFile;
  readonly #options: DownloadOptions;
  readonly #acceptVersions: boolean;
  readonly #resumed: boolean;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** Bytes received of chunks that are not stored yet, by chunk. */
  readonly #inFlight = new Map<number, number>();
  readonly #spareBuffers: Uint8Array<ArrayBuffer>[] = [];
  readonly #turns = new Mutex();
  /** Whether to use one connection at a time: until a range has arrived, and after the server has ignored a range. */
  #takesTurns = true;
  #reported = 0;

  constructor(partial: PartialFile, file: WeightFile, options: DownloadOptions, acceptVersions: boolean) {
    this.#partial = partial;
    this.#file = file;
    this.#options = options;
    this.#acceptVersions = acceptVersions;
    this.#resumed = partial.storedBytes > 0;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  async run(): Promise<Outcome> {
    const partial = this.#partial;
    try {
      await partial.hashStored(this.#signal);
      this.#report();
      await this.#fetchMissing();
      await partial.hashStored(this.#signal);
    } catch (error) {
      if (error instanceof VersionChangedError) return 'mixed';
      throw error;
    } finally {
      await partial.close();
    }
    const { sha256, chunks } = await partial.digest();
    if (sha256 === this.#file.sha256) return { chunks };
    const oneVersion = !this.#resumed && (partial.chunkCount === 1 || partial.version !== null);
    return oneVersion ? 'wrong' : 'mixed';
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
    const connections = Array.from({ length: CONNECTIONS }, connection);
    try {
      await Promise.all(connections);
    } catch (error) {
      this.#stop.abort(error);
      await Promise.allSettled(connections);
      throw error;
    }
  }

  #fetchWithRetries(index: number): Promise<void> {
    return withRetries(() => this.#fetchChunk(index), {
      signal: this.#signal,
      storedBytes: () => this.#partial.storedBytes,
      isFinal: (error) =>
        error instanceof ServiceError || error instanceof VersionChangedError || isQuotaError(error),
    });
  }

  async #fetchChunk(index: number): Promise<void> {
    if (!this.#takesTurns && (await this.#request(index)) === 'stored') return;
    await this.#turns.run(async () => {
      this.#signal.throwIfAborted();
      // Another connection may have stored this chunk from a whole file that then broke off: continue with the next.
      const next = this.#partial.has(index) ? this.#partial.missing().next().value : index;
      if (next !== undefined) await this.#request(next, true);
    });
  }

  /**
   * Requests and stores a chunk, or all missing chunks if the server ignores the range.
   * @returns `whole` if the server ignored the range and nothing was stored, as other connections may be open
   */
  async #request(index: number, isAlone = false): Promise<'stored' | 'whole'> {
    const partial = this.#partial;
    if (partial.has(index)) return 'stored';
    const range = { from: index * CHUNK_BYTES, to: index * CHUNK_BYTES + partial.lengthOf(index) };
    const timeout = new IdleTimeout(this.#signal, this.#options.idleTimeoutMs);
    const request = fetch(this.#options.url, {
      signal: timeout.signal,
      // The HTTP cache must not keep a second copy.
      cache: 'no-store',
      headers: partial.chunkCount > 1 ? { range: `bytes=${range.from}-${range.to - 1}` } : {},
    });
    const response = await timeout.during(request).catch((error: unknown) => {
      throw error instanceof TypeError ? new UnreachableError(error) : error;
    });
    await checkResponse(this.#file, response, range);
    this.#checkVersion(response);
    const isWhole = response.status === 200;
    if (isWhole || isAlone) this.#takesTurns = isWhole;
    if (isWhole && !isAlone) {
      await response.body?.cancel().catch(() => undefined);
      return 'whole';
    }
    const reader = new ChunkReader(timeout.body(response));
    try {
      if (isWhole) await this.#storeWhole(reader);
      else {
        await this.#storeNext(reader, index);
        // Read to the end. Otherwise the browser cancels the request and does not reuse its connection.
        await reader.ended();
      }
      return 'stored';
    } finally {
      await reader.close();
    }
  }

  /** Stores the missing chunks of a whole file. Stops reading after the last of them. */
  async #storeWhole(reader: ChunkReader): Promise<void> {
    const { chunkCount } = this.#partial;
    const last = [...this.#partial.missing()].at(-1) ?? 0;
    for (let at = 0; at <= last; at++) await this.#storeNext(reader, at);
    if (last === chunkCount - 1 && !(await reader.ended())) throw sizeDiffers(this.#file, 'is longer');
  }

  /** Compares `etag` or `last-modified` with the stored version. Without either, only the hash decides. */
  #checkVersion({ headers }: Response): void {
    const version = headers.get('etag') ?? headers.get('last-modified');
    const known = this.#partial.version;
    if (!this.#acceptVersions && known !== null && version !== null && version !== known) {
      throw new VersionChangedError('the file has changed on the server');
    }
    this.#partial.version ??= version;
  }

  async #storeNext(reader: ChunkReader, index: number): Promise<void> {
    const partial = this.#partial;
    const onBytes = (received: number): void => {
      if (partial.has(index)) return;
      this.#inFlight.set(index, received);
      this.#report();
    };
    const buffer = this.#spareBuffers.pop() ?? new Uint8Array(Math.min(CHUNK_BYTES, this.#file.bytes));
    try {
      const bytes = buffer.subarray(0, partial.lengthOf(index));
      await reader.fill(bytes, onBytes).finally(() => this.#inFlight.delete(index));
      if (!partial.has(index)) await partial.store(index, bytes, this.#signal);
    } finally {
      this.#spareBuffers.push(buffer);
    }
    this.#report();
  }

  /** Reports progress, which never goes back although received chunks may be lost. */
  #report(): void {
    let bytes = this.#partial.storedBytes;
    for (const received of this.#inFlight.values()) bytes += received;
    this.#reported = Math.max(this.#reported, Math.min(bytes, this.#file.bytes));
    this.#options.onProgress(this.#reported);
  }
}

/** Range of bytes; `to` is exclusive. */
export interface ByteRange {
  from: number;
  to: number;
}

/**
 * Rejects a response that cannot be the file, before any of it is stored.
 * @throws ServiceError; `TransientStatusError` and `WrongRangeError`, after which a retry may succeed
 */
async function checkResponse(file: WeightFile, response: Response, requested: ByteRange): Promise<void> {
  try {
    checkStatus(file, response);
    if (response.status === 200) checkLength(file, response.headers);
    else checkRange(file, response.headers, requested);
  } catch (error) {
    await response.body?.cancel().catch(() => undefined);
    throw error;
  }
}

function checkStatus(file: WeightFile, response: Response): void {
  const { status, headers } = response;
  if (status === 416) throw sizeDiffers(file, 'is shorter');
  if (isTransient(status)) throw new TransientStatusError(response);
  if (status !== 200 && status !== 206) throw unavailable(file, status);
  const type = headers.get('content-type') ?? '';
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type) && !/\.x?html?$/i.test(file.path)) {
    throw webPage(file, status);
  }
}

function checkLength(file: WeightFile, headers: Headers): void {
  const length = headers.get('content-length');
  if (length === null || headers.has('content-encoding') || Number(length) === file.bytes) return;
  throw sizeDiffers(file, `has ${length} bytes`);
}

/** Checks `content-range`. A server of another origin may hide the header; then only the hash decides. */
function checkRange(file: WeightFile, headers: Headers, { from, to }: ByteRange): void {
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  if (!range) return;
  const [, first, last, total] = range;
  if (total !== '*' && Number(total) !== file.bytes) throw sizeDiffers(file, `has ${total} bytes`);
  if (Number(first) !== from || Number(last) !== to - 1) {
    throw new WrongRangeError(
      `the server answered bytes ${first} to ${last} when ${from} to ${to - 1} were asked for`,
    );
  }
}
