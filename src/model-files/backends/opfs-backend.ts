import { openAccess } from './open-access.ts';
import { openWeightsFolder } from './opfs-folder.ts';
import { freeBytes, type BackendWriter, type StorageBackend } from './storage-backend.ts';

/** The origin private file system; null where there is none (private windows, some WebKit builds). */
export async function openOpfsBackend(): Promise<StorageBackend | null> {
  try {
    const folder = await openWeightsFolder({ create: true });
    return 'createSyncAccessHandle' in FileSystemFileHandle.prototype ? new OpfsBackend(folder) : null;
  } catch {
    return null;
  }
}

class OpfsBackend implements StorageBackend {
  readonly kind = 'opfs';
  readonly free = freeBytes;
  #folder: FileSystemDirectoryHandle;

  constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder;
  }

  async read(name: string): Promise<Blob | null> {
    const handle = await nullIfMissing(this.#folder.getFileHandle(name));
    return handle && nullIfMissing(handle.getFile());
  }

  async write(name: string): Promise<BackendWriter> {
    // A writable stream keeps its bytes aside until it is closed; an access handle leaves a part to resume from.
    const access = await openAccess(() => this.#create(name));
    return {
      write: async (bytes, at) => {
        for (let done = 0; done < bytes.length;) {
          const wrote = access.write(bytes.subarray(done), { at: at + done });
          if (wrote <= 0) throw new DOMException('The disk took no more bytes.', 'QuotaExceededError');
          done += wrote;
        }
      },
      read: async (at, length) => {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, access.read(bytes, { at }));
      },
      // While a file is open, Chromium counts it as the next power of two.
      resize: async (bytes) => access.truncate(bytes),
      flush: async () => access.flush(),
      close: async () => {
        try {
          access.flush();
        } finally {
          access.close();
        }
      },
    };
  }

  async #create(name: string): Promise<FileSystemFileHandle> {
    const handle = await nullIfMissing(this.#folder.getFileHandle(name, { create: true }));
    if (handle) return handle;
    // The site's storage was cleared, and the folder with it.
    this.#folder = await openWeightsFolder({ create: true });
    return this.#folder.getFileHandle(name, { create: true });
  }

  async remove(name: string): Promise<void> {
    await nullIfMissing(this.#folder.removeEntry(name));
  }
}

async function nullIfMissing<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotFoundError') return null;
    throw error;
  }
}
