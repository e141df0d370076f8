import { createHash } from 'node:crypto';
import { lstat, readFile, realpath, rm, rmdir } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';

import { CommandError } from './cli/arguments.ts';
import { shown } from './cli/output.ts';
import { readTextIfAny, replaceFile } from './files.ts';

/** List of the files that localtext has made in a site's folder, with their SHA-256. Others are never replaced or deleted. */
export const MADE_FILES = 'localtext-files.json';

/** Hashes by the path below the folder: more than one while a run replaces the file. */
type MadeFiles = ReadonlyMap<string, readonly string[]>;

/** Endings of compressed copies, which hosts serve in place of a file. */
export const COPIES = ['.br', '.gz', '.zst'];
/** A name with a hash of the content: a copy of such a file is never of another one. */
const HASHED = /-[\w-]{8}\.\w+$/;
const MAX_SHOWN = 5;

type Contents = ReadonlyMap<string, string | Uint8Array>;

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** Whether a path stays in the folder. */
const isOwnPath = (path: string): boolean =>
  !/[\\\0]|^$|\/$/.test(path) && posix.normalize(`/${path}`) === `/${path}`;

/** @param replaced files of an earlier run, some of which may still be there */
export function madeFilesText(contents: Contents, replaced: MadeFiles = new Map()): string {
  const files = Object.fromEntries([...contents].map(([path, content]) => [path, sha256(content)]));
  const earlier = replaced.size > 0 && { replaced: Object.fromEntries(replaced) };
  return `${JSON.stringify({ version: 1, files, ...earlier }, null, 1)}\n`;
}

interface MadeList {
  version: unknown;
  files: Record<string, string>;
  /** Only while files are replaced. */
  replaced?: Record<string, string[]>;
}

/** The list of a folder; empty if it has none. @throws CommandError if it cannot be read */
export async function readMadeFiles(folder: string): Promise<MadeFiles> {
  const path = join(folder, MADE_FILES);
  const text = await readTextIfAny(path);
  if (text === null) return new Map();
  try {
    const { version, files, replaced = {} } = JSON.parse(text) as MadeList;
    const made = new Map(Object.entries(replaced));
    for (const [name, hash] of Object.entries(files)) made.set(name, [...(made.get(name) ?? []), hash]);
    if (version === 1 && [...made].every(([name, hashes]) => isOwnPath(name) && Array.isArray(hashes)))
      return made;
  } catch {
    // The error below says the same.
  }
  const message = `${shown(path)} is not a list of localtext's files that this version can read. Restore it, or move it and localtext's files elsewhere, and run this again.`;
  throw new CommandError(message);
}

/**
 * Writes the files and their list, and deletes those of an earlier run that are not among them. The list is
 * written first: it is right also if the run is interrupted.
 * @returns the files of the earlier run that were changed since, which stay
 * @throws CommandError if a file is in the way; nothing is written then
 */
export async function replaceMade(folder: string, contents: Contents): Promise<string[]> {
  const made = await readMadeFiles(folder);
  await checkWay(folder, contents, made, COPIES);
  const list = join(folder, MADE_FILES);
  await replaceFile(list, madeFilesText(contents, made));
  const changed = await removeMade(folder, made, (path) => contents.has(path));
  for (const [path, content] of contents) await replaceFile(join(folder, path), content);
  await replaceFile(list, madeFilesText(contents));
  return changed;
}

/**
 * Throws if a file that is to be written exists and was not made by localtext, or was changed since.
 * @param copies endings of copies that must not exist beside the files
 * @throws CommandError that names the files
 */
export async function checkWay(
  folder: string,
  contents: Contents,
  made: MadeFiles,
  copies: readonly string[] = [],
): Promise<void> {
  const inTheWay = new Set<string>();
  for (const [path, content] of contents) {
    const found = await blocker(folder, path, { content, made, copies });
    if (found !== null) inTheWay.add(found);
  }
  if (inTheWay.size === 0) return;
  const paths = [...inTheWay].map((path) => `  ${shown(join(folder, path))}`);
  const more = paths.length > MAX_SHOWN ? [`  and ${paths.length - MAX_SHOWN} more`] : [];
  throw new CommandError(
    [
      'These files are in the way: localtext did not make them, or they were changed since.',
      ...paths.slice(0, MAX_SHOWN),
      ...more,
      'Nothing was written. Move or delete them, and run this again.',
    ].join('\n'),
  );
}

async function blocker(
  folder: string,
  path: string,
  { content, made, copies }: { content: string | Uint8Array; made: MadeFiles; copies: readonly string[] },
): Promise<string | null> {
  const parts = path.split('/');
  for (let count = 1; count < parts.length; count++) {
    const parent = parts.slice(0, count).join('/');
    const found = await lstat(join(folder, parent)).catch(() => null);
    if (found === null) return null;
    if (!found.isDirectory()) return parent;
  }
  for (const end of HASHED.test(path) ? [] : copies)
    if ((await lstat(join(folder, path + end)).catch(() => null)) !== null) return path + end;
  const hash = await hashOf(folder, path);
  if (hash === null || made.get(path)?.includes(hash)) return null;
  return hash === sha256(content) ? null : path;
}

/** SHA-256 of a file; `other` if it is a folder or a link, or behind a link; null if there is none. */
async function hashOf(folder: string, path: string): Promise<string | null> {
  const file = join(folder, path);
  try {
    const found = await lstat(file);
    const isInside = found.isFile() && (await realpath(file)) === join(await realpath(folder), path);
    return isInside ? sha256(await readFile(file)) : 'other';
  } catch (error) {
    // Another run may have deleted it meanwhile.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/**
 * Deletes files that localtext has made, and the folders that are empty then.
 * @returns the files that were changed since, which stay
 */
async function removeMade(
  folder: string,
  made: MadeFiles,
  isKept: (path: string) => boolean,
): Promise<string[]> {
  const changed: string[] = [];
  for (const [path, hashes] of made) {
    if (isKept(path)) continue;
    const found = await hashOf(folder, path);
    if (found === null) continue;
    if (hashes.includes(found)) {
      await rm(join(folder, path), { force: true });
      await removeEmpty(folder, dirname(path)).catch(() => undefined);
    } else changed.push(path);
  }
  return changed;
}

/** @throws at the first folder that has something in it */
async function removeEmpty(folder: string, below: string): Promise<void> {
  if (below === '.') return;
  await rmdir(join(folder, below));
  await removeEmpty(folder, dirname(below));
}
