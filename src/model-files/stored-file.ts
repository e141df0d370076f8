export type FilePhase = 'download' | 'prepare';

export interface FileOptions {
  /** Another file is made of it, and it is deleted then. */
  isTemporary?: boolean;
  signal: AbortSignal;
  /**
   * `download`: bytes that came over the network, of all that come so for this file. `prepare`: bytes of the file itself, as
   * it is made of what came, or checked where another site stored it.
   */
  onProgress(loadedBytes: number, totalBytes: number, phase: FilePhase): void;
}

export interface FetchedFile {
  blob: Blob;
  /** The URL that it was downloaded from, `disk` or `cross-origin-storage`; null: unknown. */
  from: string | null;
}

/** A stored file, usable while its bytes are still being verified. */
export interface StoredFile extends FetchedFile {
  /** False: damaged. It was turned back into an unfinished download then. */
  intact: Promise<boolean>;
}
