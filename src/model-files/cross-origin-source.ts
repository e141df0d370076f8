import { isAddedVariant } from '../catalog/added-models.ts';
import type { WeightFile } from '../catalog/catalog.ts';
import { withTimeout } from '../util/async.ts';
import type { SharedFiles } from '../util/cross-origin-storage.ts';
import { intactChunks } from './integrity/integrity-record.ts';

/** Minimum file size. Smaller files download just as fast. */
const MIN_BYTES = 1e6;
/** Time limit for a write. A slower write continues, but the file stays in this site's storage. */
const WRITE_TIMEOUT_MS = 120_000;

/** Name of the source in integrity records and the status. */
export const CROSS_ORIGIN_STORAGE = 'cross-origin-storage';

/** Cross-origin storage as a source and a sink of weights. Its bytes are trusted only after they were hashed here. */
export class CrossOriginSource {
  readonly #shared: SharedFiles;
  /** Hashes of files that had wrong bytes. This worker does not request them again. */
  readonly #excluded = new Set<string>();
  /** Hashes of requested files that were missing. They may be written. */
  readonly #absent = new Set<string>();

  constructor(shared: SharedFiles) {
    this.#shared = shared;
  }

  /** Reads a file; null if it is absent or not allowed. */
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
   * Writes a file that was missing, and reads it back.
   * @param chunks SHA-256 of each chunk
   * @returns the stored bytes; null if they were not stored or cannot be read
   */
  async write(file: WeightFile, chunks: string[], blob: Blob): Promise<Blob | null> {
    const { path, sha256 } = file;
    // Models that the user added are private to this site.
    if (!this.#absent.delete(sha256) || isAddedVariant(path)) return null;
    if (!(await withTimeout(this.#shared.write(sha256, blob), WRITE_TIMEOUT_MS))) return null;
    const written = await this.read(file);
    if (!written) return null;
    if ((await intactChunks(written, { chunks })).length === chunks.length) return written;
    this.exclude(file);
    return null;
  }
}
