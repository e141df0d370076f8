import { freeBytes, type Shelf, type ShelfWriter } from './shelf.ts';

const FOLDERS = ['localtext', 'weights'];

/** The origin private file system; null where there is none (private windows, some WebKit builds). */
export async function openOpfsShelf(): Promise<Shelf | null> {
  try {
    let folder = await navigator.storage.getDirectory();
    for (const name of FOLDERS) folder = await folder.getDirectoryHandle(name, { create: true });
    if (!('createSyncAccessHandle' in FileSystemFileHandle.prototype)) return null;
    return new OpfsShelf(folder);
  } catch {
    return null;
  }
}

export class OpfsShelf implements Shelf {
  readonly kind = 'opfs';
  readonly #folder: FileSystemDirectoryHandle;

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

  async write(name: string, start: number): Promise<ShelfWriter> {
    const handle = await this.#folder.getFileHandle(name, { create: true });
    // A writable stream keeps its bytes aside until it is closed; this one leaves a part to resume from.
    const access = await handle.createSyncAccessHandle();
    access.truncate(start);
    let at = start;
    return {
      write: async (bytes) => {
        let done = 0;
        while (done < bytes.length) {
          const wrote = access.write(bytes.subarray(done), { at });
          if (wrote <= 0) throw new DOMException('The disk took no more bytes.', 'QuotaExceededError');
          done += wrote;
          at += wrote;
        }
      },
      close: async () => {
        access.flush();
        access.close();
      },
    };
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#folder.removeEntry(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  free(): Promise<number | null> {
    return freeBytes();
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NotFoundError';
