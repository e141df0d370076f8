import { withTimeout } from './async.ts';

/**
 * The part of the Cross-Origin Storage proposal that is used here. Browsers get it from an extension today.
 */
export interface CrossOriginStorageManager {
  requestFileHandle?: RequestHandle<FileHash, SharedHandle>;
  /** Form of an earlier draft. */
  requestFileHandles?: RequestHandle<FileHash[], SharedHandle[]>;
}

type RequestHandle<Hash, Handle> = (
  hash: Hash,
  options?: { create?: boolean; origins?: string },
) => Promise<Handle>;

interface FileHash {
  algorithm: 'SHA-256';
  value: string;
}

interface SharedHandle {
  getFile(): Promise<Blob>;
  createWritable(): Promise<WritableStream<Uint8Array>>;
}

/** Files that sites share, by their SHA-256 in hex. Never rejects. */
export interface SharedFiles {
  /** `refused`: not allowed, or it does not work. */
  read(sha256: string): Promise<Blob | 'absent' | 'refused'>;
  /** @returns whether it is stored there now */
  write(sha256: string, blob: Blob): Promise<boolean>;
}

/** Time limit for a permission prompt: the user may be away. */
const PERMISSION_TIMEOUT_MS = 10_000;

/** The storage that sites share; null: this context has none. */
export function openCrossOriginStorage(
  from = navigator as { crossOriginStorage?: CrossOriginStorageManager },
): SharedFiles | null {
  const { crossOriginStorage: manager } = from;
  return manager ? sharedFiles(manager) : null;
}

function sharedFiles(manager: CrossOriginStorageManager): SharedFiles {
  const handleOf = async (value: string, options?: { create: true; origins: '*' }): Promise<SharedHandle> => {
    const hash: FileHash = { algorithm: 'SHA-256', value };
    const handle = manager.requestFileHandle
      ? manager.requestFileHandle(hash, options)
      : manager.requestFileHandles?.([hash], options).then(([first]) => first);
    const granted = await withTimeout(Promise.resolve(handle), PERMISSION_TIMEOUT_MS);
    if (granted) return granted;
    throw new DOMException('The browser gave no handle in time.', 'TimeoutError');
  };
  return {
    async read(sha256) {
      try {
        const file = await withTimeout((await handleOf(sha256)).getFile(), PERMISSION_TIMEOUT_MS);
        // Nothing else can be sent to the worker.
        return file instanceof Blob ? file : 'refused';
      } catch (error) {
        return error instanceof Error && error.name === 'NotFoundError' ? 'absent' : 'refused';
      }
    },
    async write(sha256, blob) {
      try {
        const writable = await (await handleOf(sha256, { create: true, origins: '*' })).createWritable();
        // Closes it, which is when the browser compares the hash.
        await blob.stream().pipeTo(writable);
        return true;
      } catch {
        return false;
      }
    },
  };
}
