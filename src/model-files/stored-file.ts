import type { Progress } from '../protocol/worker-control.ts';

export interface FileOptions {
  signal: AbortSignal;
  /**
   * `download`: bytes that came over the network. `prepare`: bytes that were checked, of a file that another site stored.
   */
  onProgress(progress: Progress): void;
}

export interface FetchedFile {
  blob: Blob;
  /** The URL that it was downloaded from, `disk` or `cross-origin-storage`; null: unknown. */
  from: string | null;
}

/** A stored file, usable while its bytes are still being verified. */
export interface StoredFile extends FetchedFile {
  /** False if the file is damaged; it was turned back into an unfinished download then. */
  intact: Promise<boolean>;
}
