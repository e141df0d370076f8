import { delay, withTimeout } from '../../util/abort.ts';
import { serverError, type EngineError } from '../../errors/engine-error.ts';

const TRIES = 4;
/** Opening takes some milliseconds; Chromium at times never opens a file that was closed a moment before. */
const OPEN_MS = 3000;
const PAUSE_MS = 250;

/** What is used of a FileSystemFileHandle. */
type Openable = Pick<FileSystemFileHandle, 'createSyncAccessHandle'>;

/**
 * Opens a file of the private file system for writing: again when that takes too long, or while another still holds it.
 * @throws EngineError `storage_failed`, so that nobody waits forever; what the last try failed of
 */
export async function openAccess(
  getFile: () => Promise<Openable>,
  openMs = OPEN_MS,
): Promise<FileSystemSyncAccessHandle> {
  for (let tries = 1; ; tries++) {
    try {
      const access = await openWithin(getFile, openMs);
      if (access) return access;
      if (tries === TRIES) throw neverOpened();
    } catch (error) {
      if (tries === TRIES || !isHeld(error)) throw error;
    }
    await delay(PAUSE_MS);
  }
}

/** null: not in time; should it open later, it is closed at once. */
async function openWithin(
  getFile: () => Promise<Openable>,
  ms: number,
): Promise<FileSystemSyncAccessHandle | null> {
  const opening = getFile().then((file) => file.createSyncAccessHandle());
  const access = await withTimeout(opening, ms);
  if (!access) opening.then((opened) => opened.close()).catch(() => undefined);
  return access;
}

const isHeld = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NoModificationAllowedError';

const neverOpened = (): EngineError =>
  serverError(
    'storage_failed',
    "The browser's storage for this site does not open a file. Close every tab of this site, or restart the browser, and try again: what has come is kept.",
  );
