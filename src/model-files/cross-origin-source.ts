import { isAddedVariant } from '../catalog/added-models.ts';
import type { WeightFile } from '../catalog/catalog.ts';
import { withTimeout } from '../util/async.ts';
import type { SharedFiles } from '../util/cross-origin-storage.ts';
import { intactChunks } from './integrity/integrity-record.ts';

/** Smaller files are as quick to download. */
const MIN_BYTES = 1e6;
/** A write that takes longer goes on, and the file stays in this site's storage. */
const WRITE_TIMEOUT_MS = 120_000;

/** Name of the source in integrity records and the status. */
export const CROSS_ORIGIN_STORAGE = 'cross-origin-storage';

/** Cross-origin storage as a source and a sink of weights. Its bytes count only once they were hashed here. */
export class CrossOriginSource {
  readonly #shared: SharedFiles;
  /** Hashes of files that had wrong bytes: they are not asked for again in this worker's life. */
  readonly #excluded = new Set<string>();
  /** Hashes of files that were asked for and missing: they may be written. */
  readonly #absent = new Set<string>();

  constructor(shared: SharedFiles) {
    this.#shared = shared;
  }

  /** Reads a file; null: it is absent, or not allowed. */
  async read(file: WeightFile): Promise<Blob | null> {
    const { sha256, bytes } = file;
    if (bytes < MIN_BYTES || this.#excluded.has(sha256)) return null;
    const found = await this.#shared.read(sha256);
    if (found === 'absent') this.#absent.add(sha256);
    if (!(found instanceof Blob)) return null;
    if (found.size === bytes) return found;
    this.exclude(file);
    return null;
  }

  exclude({ path, sha256 }: WeightFile): void {
    this.#excluded.add(sha256);
    console.warn(`localtext: cross-origin storage has other bytes than ${path}: it is downloaded instead.`);
  }

  /**
   * Writes a file that was not there, and reads it back.
   * @param chunks the SHA-256 of each chunk
   * @returns the bytes there; null: they are not, or cannot be read
   */
  async write(file: WeightFile, chunks: string[], blob: Blob): Promise<Blob | null> {
    const { path, sha256 } = file;
    // A model of the user's is nobody else's business.
    if (!this.#absent.delete(sha256) || isAddedVariant(path)) return null;
    if (!(await withTimeout(this.#shared.write(sha256, blob), WRITE_TIMEOUT_MS))) return null;
    const written = await this.read(file);
    if (!written) return null;
    if ((await intactChunks(written, { chunks })).length === chunks.length) return written;
    this.exclude(file);
    return null;
  }
}
