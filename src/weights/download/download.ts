import type { WeightFile } from '#catalog';
import {
  ConnectionError,
  ServiceError,
  Mutex,
  IdleTimeout,
  isQuotaError,
  MIN_PROGRESS_BYTES,
  withRetries,
} from '#base';
import { CHUNK_BYTES, type StorageBackend } from '../backends/storage-backend.ts';
import { downloadFailed, sizeDiffers, wrongHash } from './download-errors.ts';
import { discardPartial, openPartial, type PartialFile } from './partial-file.ts';
import {
  bodyReader,
  EndedEarlyError,
  requestPart,
  UnusableRangeError,
  type BodyReader,
} from './request-part.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Message for a broken connection to a server that ignores ranges: the next attempt begins with the first byte. */
const NOT_RESUMABLE = 'the connection broke, and the server cannot continue a file (byte ranges)';

/** Number of connections per file, as one often does not use the full bandwidth. */
const CONNECTIONS = 4;

export interface DownloadOptions {
  url: string;
  /** Name of the file in the backend. */
  name: string;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
  /** How long a connection may be idle, and a started download without new bytes, in milliseconds. */
  idleTimeoutMs?: number | undefined;
}

/**
 * Downloads a file to the backend and hashes it as it arrives. Resumes after the stored bytes, and uses several
 * connections if the server supports ranges. After an abort or a failure the received bytes and their checkpoint
 * remain. The caller removes the checkpoint once the file is recorded as complete.
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
    for (let rounds = 0, sendsRanges = true; rounds < 2; rounds++) {
      const partial = await openPartial(backend, options.name, file.bytes);
      const outcome = await downloadOnce(partial, file, options, sendsRanges).finally(() => {
        keptBytes = partial.storedBytes;
      });
      if (typeof outcome === 'object') return outcome.chunks;
      await discardPartial(backend, options.name);
      if (outcome === 'wrong') break;
      sendsRanges = outcome !== 'misplaced';
    }
    throw wrongHash(file);
  } catch (error) {
    options.signal.throwIfAborted();
    throw downloadFailed(file, error, keptBytes);
  }
}

/**
 * `mixed`: chunks may be from different versions of the file, or torn. A new download may succeed. `misplaced`: the server
 * hid which ranges it sent. A download without ranges may succeed. `wrong`: none would.
 */
type Outcome = { chunks: string[] } | 'mixed' | 'misplaced' | 'wrong';

/** Buffers for the chunks that connections receive, whose bytes are the download's progress. */
function chunkBuffers(partial: PartialFile, fileBytes: number, onProgress: (loadedBytes: number) => void) {
  /** Bytes received of chunks that are not stored yet, by chunk. */
  const inFlight = new Map<number, number>();
  const spareBuffers: Bytes[] = [];
  let reported = 0;

  /** Reports progress, which never goes back although stored bytes may be discarded. */
  function report(): void {
    let bytes = partial.storedBytes;
    for (const [index, received] of inFlight) bytes += Math.max(0, received - partial.storedOf(index));
    reported = Math.max(reported, Math.min(bytes, fileBytes));
    onProgress(reported);
  }

  return {
    report,

    /** Runs `fill` with the buffer of a chunk. */
    async use(index: number, fill: (bytes: Bytes) => Promise<void>): Promise<void> {
      // Reused, as browsers collect large buffers late.
      const buffer = spareBuffers.pop() ?? new Uint8Array(Math.min(CHUNK_BYTES, fileBytes));
      try {
        await fill(buffer.subarray(0, partial.lengthOf(index)));
      } finally {
        spareBuffers.push(buffer);
        report();
      }
    },

    /** Fills `bytes` from `from` on. If the connection breaks, stores what has arrived. */
    async receive(reader: BodyReader, index: number, bytes: Bytes, from: number): Promise<void> {
      let received = from;
      try {
        while (received < bytes.length) {
          const part = await reader.read(bytes.length - received);
          bytes.set(part, received);
          received += part.length;
          if (received <= partial.storedOf(index)) continue;
          inFlight.set(index, received);
          report();
        }
      } catch (error) {
        await partial.storeStart(index, bytes.subarray(0, received)).catch(() => undefined);
        throw error;
      } finally {
        inFlight.delete(index);
      }
    },
  };
}

/** Fetches what is missing of a file, and compares its hash. */
async function downloadOnce(
  partial: PartialFile,
  file: WeightFile,
  options: DownloadOptions,
  triesRanges: boolean,
): Promise<Outcome> {
  /** Bytes that were stored before. */
  const resumed = partial.storedBytes;
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const mutex = new Mutex();
  /** Whether to use one connection at a time: until a range has arrived, and after the server has ignored a range. */
  let isSingle = true;
  /** False once the server has answered a range with anything but the range or the whole file. */
  let sendsRanges = triesRanges;
  let hasHiddenRanges = false;
  let answers = 0;
  /** Bytes of the last whole answer that ended early: one of equal length is no broken connection. */
  let endedAt: number | null = null;
  let hasChanged = false;
  const chunks = chunkBuffers(partial, file.bytes, options.onProgress);

  /** Fetches missing chunks. The first is fetched alone, to find out whether the server supports ranges. */
  async function fetchMissing(): Promise<void> {
    const missing = partial.missing();
    const first = missing.next();
    if (first.done) return;
    await fetchWithRetries(first.value);
    const connection = async (): Promise<void> => {
      for (const index of missing) await fetchWithRetries(index);
    };
    await all(Array.from({ length: CONNECTIONS }, connection));
  }

  /** Waits for all of these parts of the download. If one fails, ends the others first. */
  async function all(parts: Promise<void>[]): Promise<void> {
    try {
      await Promise.all(parts);
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(parts);
      throw error;
    }
  }

  function fetchWithRetries(index: number): Promise<void> {
    return withRetries(() => fetchChunk(index), {
      signal,
      // Bytes that arrive and cannot be stored are no progress.
      arrivedBytes: () => partial.storedBytes - resumed,
      isFinal: (error) => error instanceof ServiceError || isQuotaError(error),
      patienceMs: options.idleTimeoutMs,
    });
  }

  async function fetchChunk(index: number): Promise<void> {
    if (!isSingle && (await request(index)) === 'stored') return;
    await mutex.run(async () => {
      signal.throwIfAborted();
      // Another connection may have stored this chunk from a whole file that then broke off: continue with the next.
      const next = partial.has(index) ? partial.missing().next().value : index;
      if (next !== undefined) await request(next, true);
    });
  }

  /**
   * Requests and stores the rest of a chunk, or all missing chunks if the server ignores the range.
   * @returns `whole` if only the whole file can be requested and nothing was stored, as other connections may be open
   */
  async function request(index: number, isAlone = false): Promise<'stored' | 'whole'> {
    if (partial.has(index)) return 'stored';
    if (!sendsRanges && !isAlone) return 'whole';
    try {
      return await store(index, isAlone);
    } catch (error) {
      // A server that ends ranges so early supports none.
      const isShort = error instanceof EndedEarlyError && error.received < MIN_PROGRESS_BYTES;
      if (!isShort && !(error instanceof UnusableRangeError)) throw error;
      sendsRanges = false;
      isSingle = true;
      return isAlone ? store(index, isAlone) : 'whole';
    }
  }

  async function store(index: number, isAlone: boolean): Promise<'stored' | 'whole'> {
    const timeout = new IdleTimeout(signal, options.idleTimeoutMs);
    // Read once: another connection may store more of the chunk meanwhile, as a part of the whole file.
    const from = partial.storedOf(index);
    const start = index * CHUNK_BYTES;
    const rest = { from: start + from, to: start + partial.lengthOf(index) };
    const range = sendsRanges && rest.to - rest.from < file.bytes ? rest : null;
    const response = await requestPart(file, options.url, range, timeout, () => isSingle);
    noteVersion(response);
    const isWhole = response.status === 200;
    hasHiddenRanges ||= !isWhole && !response.headers.get('content-range');
    if (isWhole || isAlone) isSingle = isWhole;
    if (isWhole && !isAlone) {
      await response.body?.cancel().catch(() => undefined);
      return 'whole';
    }
    answers++;
    const reader = bodyReader(timeout.body(response));
    try {
      if (isWhole) await storeWhole(reader, response.headers);
      else await storeRest(reader, index, from);
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
  async function storeRest(reader: BodyReader, index: number, from: number): Promise<void> {
    await chunks.use(index, async (bytes) => {
      if (from > 0) bytes.set(await partial.readStart(index));
      await chunks.receive(reader, index, bytes, from);
      if (!(await reader.ended().catch(() => true))) throw new UnusableRangeError();
      await partial.store(index, bytes, signal);
    });
  }

  /** Stores the missing chunks of a whole file. Stops reading after the last of them. */
  async function storeWhole(reader: BodyReader, headers: Headers): Promise<void> {
    const { chunkCount } = partial;
    const last = [...partial.missing()].at(-1) ?? 0;
    try {
      for (let at = 0; at <= last; at++)
        await chunks.use(at, async (bytes) => {
          await chunks.receive(reader, at, bytes, 0);
          await partial.store(at, bytes, signal);
        });
    } catch (error) {
      const received = error instanceof EndedEarlyError ? error.received : null;
      const isWhole = headers.get('content-length') === String(received) || endedAt === received;
      if (received !== null && isWhole) throw sizeDiffers(file, `has ${received} bytes`);
      endedAt = received;
      const hasBroken = received !== null || error instanceof TypeError;
      throw hasBroken && chunkCount > 1 ? new ConnectionError(NOT_RESUMABLE, { cause: error }) : error;
    }
    if (last === chunkCount - 1 && !(await reader.ended())) throw sizeDiffers(file, 'is longer');
  }

  /**
   * Notes another `etag` or `last-modified`. The stored bytes stay: servers of one host differ in them, and a new
   * deployment changes them. Only the hash decides.
   */
  function noteVersion({ headers }: Response): void {
    const version = headers.get('etag') ?? headers.get('last-modified');
    partial.version ??= version;
    hasChanged ||= version !== null && version !== partial.version;
  }

  try {
    chunks.report();
    // The stored bytes are hashed meanwhile: gigabytes take 10 s and more.
    await all([partial.hashStored(signal), fetchMissing()]);
    await partial.hashStored(signal);
  } finally {
    await partial.close();
  }
  const digest = await partial.digest();
  if (digest.sha256 === file.sha256) return { chunks: digest.chunks };
  if (hasHiddenRanges) return 'misplaced';
  const mayMix = resumed > 0 || hasChanged || (answers > 1 && partial.version === null);
  return mayMix ? 'mixed' : 'wrong';
}
