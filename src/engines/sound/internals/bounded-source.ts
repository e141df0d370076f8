/**
 * Limits the reads of a file: in damaged files of some formats, mediabunny searches for the next packet forever.
 * @remarks
 * - Relies on: mediabunny calling a source's `_getFileSize()` before each read, also past the end.
 * - Read in: mediabunny 1.61.0, `src/reader.ts`, `src/source.ts`.
 * - Notices: `BlobSource` has no such method; test/unit/engines/sound reads files whose packets have no end.
 * - Then: transcriptions fail with an error that names the version, or a test fails before a release.
 */
import { BlobSource } from 'mediabunny';

/** Maximum number of reads per packet: a constant, plus `READS_A_BYTE` per byte of the file. Real files need 1 per 3 bytes. */
const MIN_READS = 100_000;
const READS_A_BYTE = 4;

export class BoundedSource extends BlobSource {
  exceeded = false;
  #reads = 0;
  readonly #size: number;

  constructor(file: Blob) {
    super(file);
    this.#size = file.size;
    if (!('_getFileSize' in BlobSource.prototype))
      throw new Error('mediabunny has changed: its BlobSource has no _getFileSize. Install version 1.61.0.');
  }

  /** Resets the count. */
  advance(): void {
    this.#reads = 0;
  }

  _getFileSize(): number {
    this.exceeded ||= ++this.#reads > MIN_READS + READS_A_BYTE * this.#size;
    if (this.exceeded) throw new Error('the file is read without end');
    return this.#size;
  }
}
