import type { Progress } from '../protocol/worker-control.ts';

export interface FileOptions {
  signal: AbortSignal;
  /** Reports downloaded bytes (`download`), or verified bytes of a file in cross-origin storage (`prepare`). */
  onProgress(progress: Progress): void;
}

export interface FetchedFile {
  blob: Blob;
  /** URL that it was downloaded from, `disk` or `cross-origin-storage`; null if unknown. */
  from: string | null;
}

/** A stored file, usable while its bytes are still being verified. */
export interface StoredFile extends FetchedFile {
  /** Resolves to false if the file is damaged. It has then been turned back into a partial download. */
  intact: Promise<boolean>;
}
