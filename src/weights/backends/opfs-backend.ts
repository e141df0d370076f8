import { abortable, delay, withTimeout, serverError, type ServiceError } from '#base';
import { cleared, type BackendWriter, type StorageBackend } from './storage-backend.ts';
import { freeBytes } from '../storage-estimate.ts';

/** Opens the store's folder in the origin private file system. @throws DOMException or TypeError */
export async function openWeightsFolder(
  options: { create?: boolean } = {},
): Promise<FileSystemDirectoryHandle> {
  let folder = await navigator.storage.getDirectory();
  for (const name of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(name, options);
  return folder;
}

/** Time after which opening is retried. It takes some milliseconds, but Chromium sometimes never opens a file just closed. */
const OPEN_MS = 3000;
/** Number of attempts, 24 s in all. On a busy machine an early attempt may succeed after later ones. */
const TRIES = 8;
const PAUSE_MS = 250;

type Openable = Pick<FileSystemFileHandle, 'createSyncAccessHandle'>;

/**
 * Opens a file of the private file system for writing. Retries if that takes too long, or while another handle is
 * open, and uses the first attempt that succeeds.
 * @throws ServiceError `storage_failed` if no attempt succeeds in time; another error of an attempt
 */
export async function openAccess(getFile: () => Promise<Openable>): Promise<FileSystemSyncAccessHandle> {
  const openings: Promise<FileSystemSyncAccessHandle>[] = [];
  let access: FileSystemSyncAccessHandle | null = null;
  try {
    for (let tries = 0; !access; tries++) {
      if (tries === TRIES) throw neverOpened();
      openings.push(getFile().then((file) => file.createSyncAccessHandle()));
      try {
        access = await withTimeout(Promise.any(openings), OPEN_MS);
      } catch (error) {
        const last: unknown = (error as AggregateError).errors.at(-1);
        if (!(last instanceof DOMException && last.name === 'NoModificationAllowedError')) throw last;
        await delay(PAUSE_MS);
      }
    }
    return access;
  } finally {
    for (const each of openings)
      each.then((opened) => opened !== access && opened.close()).catch(() => undefined);
  }
}

function neverOpened(): ServiceError {
  const message =
    "The browser's storage for this site did not open a file. Close every tab of this site, or restart the browser, and try again: what was downloaded is kept.";
  return serverError('storage_failed', message);
}

/** Time limit for opening the folder. Chromium's storage can stop responding. */
const FOLDER_MS = 10_000;

/**
 * Opens the origin private file system; null if there is none (private windows, some WebKit builds).
 * @throws ServiceError `storage_failed` if it does not respond
 */
export async function openOpfsBackend(): Promise<StorageBackend | null> {
  const opening = openWeightsFolder({ create: true }).catch(() => null);
  const folder = await abortable(opening, AbortSignal.timeout(FOLDER_MS)).catch(() => {
    throw neverOpened();
  });
  return folder && 'createSyncAccessHandle' in FileSystemFileHandle.prototype
    ? new OpfsBackend(folder)
    : null;
}

class OpfsBackend implements StorageBackend {
  readonly kind = 'opfs';
  readonly free = freeBytes;
  #folder: FileSystemDirectoryHandle;

  constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder;
  }

  async read(name: string): Promise<Blob | null> {
    return this.#find(async (folder) => (await folder.getFileHandle(name)).getFile());
  }

  async write(name: string): Promise<BackendWriter> {
    // A writable stream commits only on close. An access handle leaves a partial file to resume from.
    const access = await openAccess(() => this.#create(name));
    let isGone = false;
    // Firefox closes the files of a site whose storage is cleared.
    const use = <T>(call: () => T): T => {
      try {
        return call();
      } catch (error) {
        throw error instanceof DOMException && error.name === 'InvalidStateError' ? cleared() : error;
      }
    };
    // Chromium never ends `close()` of a file that was cleared, and its name stays locked if the worker ends first: the
    // file is created again at once.
    const flush = async (): Promise<void> => {
      use(() => access.flush());
      isGone ||= !(await this.#find((folder) => folder.getFileHandle(name)));
      if (!isGone) return;
      await this.#create(name);
      throw cleared();
    };
    return {
      write: async (bytes, at) => {
        for (let done = 0; done < bytes.length;) {
          const rest = bytes.subarray(done);
          const wrote = use(() => access.write(rest, { at: at + done }));
          // In a private window of Chromium whose storage is full, 4294967288: an error of -8, unsigned.
          if (wrote <= 0 || wrote > rest.length)
            throw new DOMException('The disk took no more bytes.', 'QuotaExceededError');
          done += wrote;
        }
      },
      read: async (at, length) => {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, access.read(bytes, { at }));
      },
      // Chromium counts an open file's size as the next power of two.
      resize: async (bytes) => access.truncate(bytes),
      flush,
      close: async () => {
        try {
          await flush();
        } finally {
          access.close();
        }
      },
    };
  }

  #create(name: string): Promise<FileSystemFileHandle> {
    return this.#inFolder((folder) => folder.getFileHandle(name, { create: true }));
  }

  /** Runs a call in the folder, and again in a new one if it fails: the folder is gone once the site's storage was cleared. */
  async #inFolder<T>(use: (folder: FileSystemDirectoryHandle) => Promise<T>): Promise<T> {
    try {
      return await use(this.#folder);
    } catch {
      this.#folder = await openWeightsFolder({ create: true });
      return use(this.#folder);
    }
  }

  /** Runs a call in the folder; null if what it looks for is missing. For a cleared folder, Firefox throws an UnknownError. */
  #find<T>(use: (folder: FileSystemDirectoryHandle) => Promise<T>): Promise<T | null> {
    return this.#inFolder((folder) => nullIfMissing(use(folder)));
  }

  async remove(name: string): Promise<void> {
    await this.#find((folder) => folder.removeEntry(name));
  }

  async names(prefix: string): Promise<string[]> {
    const list = async (folder: FileSystemDirectoryHandle): Promise<string[]> => {
      const names: string[] = [];
      for await (const name of folder.keys()) if (name.startsWith(prefix)) names.push(name);
      return names;
    };
    return (await this.#find(list)) ?? [];
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
