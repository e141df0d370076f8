import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, lstat, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { CommandError } from './cli/arguments.ts';
import { shown } from './cli/output.ts';

/**
 * Creates a folder and its parents. Node's own recursive `mkdir` never returns if the file system forbids
 * folders (/proc): it takes the refusal for a missing parent, again and again.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await isFolder(path))) return;
    if (code !== 'ENOENT' || dirname(path) === path || (await isFolder(dirname(path)))) throw error;
    await makeFolder(dirname(path));
    await makeFolder(path);
  }
}

/** Creates the folder if it is missing. @throws if files cannot be written to it */
export async function makeWritableFolder(path: string): Promise<void> {
  await makeFolder(path);
  await access(path, constants.W_OK);
}

const isFolder = async (path: string): Promise<boolean> =>
  Boolean((await stat(path).catch(() => null))?.isDirectory());

/** Permissions of a draft before it has those of its file. */
const OWNER_ONLY = 0o600;

/**
 * Writes a file in one step: a reader finds the old one or the new one. The permissions stay, and the owner, if
 * this user may give a file away.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  await makeFolder(dirname(path));
  // A random name: process ids in two containers may be equal. Changed by its handle: a link may take its place.
  const draft = `${path}.${randomUUID()}`;
  try {
    const before = await stat(path).catch(() => null);
    const file = await open(draft, 'wx', before === null ? undefined : OWNER_ONLY);
    try {
      if (before !== null) {
        await file.chown(before.uid, before.gid).catch(() => undefined);
        await file.chmod(before.mode);
      }
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    // Not the draft's path.
    if (isFileError(error)) error.path = path;
    throw error;
  }
}

/**
 * Reads a text; null: there is no such file.
 * @throws CommandError also if it is not a plain file: a write would replace a link, and reading a pipe never ends
 */
export async function readTextIfAny(path: string): Promise<string | null> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return null;
  if (!found.isFile())
    throw new CommandError(
      `${shown(path)} is a link, a folder or a device, and a plain file is needed there. Move it, and run this again.`,
    );
  return naming(path, readFile(path, 'utf8')).catch((error: unknown) => {
    // Vite shows a message alone.
    throw new CommandError(describeFileError(error) ?? String(error));
  });
}

/** Reads a file, also behind a link; null: there is none that can be read. Reading a pipe never ends. */
export async function readIfFile(path: string): Promise<Buffer | null> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ? readFile(path).catch(() => null) : null;
}

/** Some errors do not name their file: this adds the path, for `describeFileError`. */
export async function naming<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isFileError(error)) error.path ??= path;
    throw error;
  }
}

const FULL = 'has no space left. Free some, or choose a folder on another disk.';
const FORBIDDEN = 'may not be read or changed. Change its permissions, or choose another folder.';
const FILE = 'needs a folder where there is a file. Choose another folder, or move the file.';
const FOLDER = 'is a folder, and a file is needed there. Move the folder.';
const CAUSES: Record<string, string> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: FORBIDDEN,
  EACCES: FORBIDDEN,
  EPERM: FORBIDDEN,
  ENOTDIR: FILE,
  EEXIST: FILE,
  EISDIR: FOLDER,
  ERR_FS_EISDIR: FOLDER,
  EFBIG: 'may not be that large. Choose a folder on another disk.',
  ENAMETOOLONG: 'has a name that is too long. Choose a shorter one.',
  EIO: 'could not be read or written. Check the disk, or choose a folder on another one.',
  ENOENT: 'does not exist and cannot be made there. Choose another folder.',
};

/**
 * An error of the file system as one sentence or two, with the path and what to do; null: it is another
 * error.
 */
export function describeFileError(error: unknown): string | null {
  if (!isFileError(error)) return null;
  // A copy's `path` is its source; the folder that the user chose is in `dest`.
  const { path = 'a file', dest = path } = error as NodeJS.ErrnoException & { dest?: string };
  const { code = '' } = error;
  return `${shown(dest)} ${CAUSES[code] ?? `could not be used (${code}). Choose another folder.`}`;
}

/** Errors of the network, of starting programs and of bundlers have a `code` too. */
export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || 'address' in error) return false;
  const { code = '', syscall = '', path } = error as NodeJS.ErrnoException;
  if (syscall.startsWith('spawn')) return false;
  return code in CAUSES || (path !== undefined && /^E[A-Z]+$/.test(code));
}

/** Whether a folder is a project that Vite builds. */
export const hasViteConfig = (folder: string): boolean =>
  ['ts', 'js', 'mts', 'mjs', 'cts', 'cjs'].some((end) => existsSync(join(folder, `vite.config.${end}`)));
