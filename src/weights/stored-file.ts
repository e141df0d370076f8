export interface FileOptions {
  /** Another file is made of it, and it is deleted then. */
  isTemporary?: boolean;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
}

/** A stored file: usable at once, while its bytes are still being checked. */
export interface StoredFile {
  blob: Blob;
  /** False: damaged. It was turned back into an unfinished download then. */
  intact: Promise<boolean>;
  /** The URL that it was downloaded from, `disk` or `cross-origin-storage`; null: unknown. */
  from: string | null;
}
