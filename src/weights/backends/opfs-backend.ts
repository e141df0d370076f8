import { openAccess } from './open-access.ts';
import { openWeightsFolder } from './opfs-folder.ts';
import { freeBytes, type StorageBackend, type BackendWriter } from './storage-backend.ts';

/** The origin private file system; null where there is none (private windows, some WebKit builds). */
export async function openOpfsBackend(): Promise<StorageBackend | null> {
  try {
    const folder = await openWeightsFolder({ create: true });
    if (!('createSyncAccessHandle' in FileSystemFileHandle.prototype)) return null;
    return new OpfsBackend(folder);
  } catch {
    return null;
  }
}

class OpfsBackend implements StorageBackend {
  readonly kind = 'opfs';
  #folder: FileSystemDirectoryHandle;

  constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder;
  }

  async read(name: string): Promise<Blob | null> {
    try {
      return await (await this.#folder.getFileHandle(name)).getFile();
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async write(name: string): Promise<BackendWriter> {
    // A writable stream keeps its bytes aside until it is closed; this one leaves a part to resume from.
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
      // Chromium counts it for the next power of two, while it is open.
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
    try {
      return await this.#folder.getFileHandle(name, { create: true });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // The site's storage was cleared, and the folder with it.
      this.#folder = await openWeightsFolder({ create: true });
      return this.#folder.getFileHandle(name, { create: true });
    }
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#folder.removeEntry(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.#folder.keys()) names.push(name);
    return names;
  }

  free(): Promise<number | null> {
    return freeBytes();
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NotFoundError';
