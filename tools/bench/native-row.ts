import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';

import { textOfTokens } from './page/long-text.ts';
import { ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

interface Pairs {
  ours: number[];
  theirs: number[];
}

/** node-llama-cpp is only for the bench and has 100 MB: it is installed here when the row is measured. */
const FOLDER = resolve('dist/bench/native');
const GGUF = resolve('public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
const DECODED = 64;
/** Tokens of a prompt, and of a long one, in which attention takes half of the time. */
const PREFILLED = 741;
const LONG = 2000;
const ANSWER_MS = 120_000;

export async function native({ page, rounds }: Stage): Promise<Row[]> {
  const threads = await page.evaluate(() => window.bench.calls.engineThreads());
  await install();
  const child = fork('tools/bench/native/llama.mjs', [FOLDER, GGUF, String(threads)]);
  const decoded: Pairs = { ours: [], theirs: [] };
  const prefilled: Pairs = { ours: [], theirs: [] };
  const long: Pairs = { ours: [], theirs: [] };
  const ask = async (message: number | string): Promise<number> => {
    child.send(message);
    return Number(await answer(child));
  };
  try {
    await answer(child);
    for (let round = 0; round <= rounds; round++) {
      decoded.ours.push(await page.evaluate((count) => window.bench.calls.decodeOurs(count), DECODED));
      decoded.theirs.push(await ask(DECODED));
      for (const [pairs, tokens] of [
        [prefilled, PREFILLED],
        [long, LONG],
      ] as const) {
        const prompt = [`n${round}`, tokens] as const;
        pairs.ours.push(
          await page.evaluate(([salt, length]) => window.bench.calls.prefillOurs(salt, length), prompt),
        );
        pairs.theirs.push(await ask(textOfTokens(...prompt)));
      }
    }
  } finally {
    child.kill();
  }
  // The first round is a warm-up.
  for (const pairs of [decoded, prefilled, long]) for (const side of [pairs.ours, pairs.theirs]) side.shift();
  return [
    ratio(
      'decode on the CPU through /v1 ÷ native llama.cpp',
      { 'ours, tokens/s': decoded.ours },
      { 'native, tokens/s': decoded.theirs },
      { atLeast: 0.85 },
    ),
    ratio(
      'prefill on the CPU through /v1 ÷ native llama.cpp',
      { 'native, ms': prefilled.theirs },
      { 'ours, ms': prefilled.ours },
      { atLeast: 1.2 },
    ),
    ratio(
      'prefill of 2,000 tokens on the CPU through /v1 ÷ native llama.cpp',
      { 'native, ms': long.theirs },
      { 'ours, ms': long.ours },
      { atLeast: 1.2 },
    ),
  ];
}

async function install(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await copyFile('tools/bench/native/package.json', `${FOLDER}/package.json`);
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--ignore-scripts', '--no-package-lock', '--no-audit'],
    {
      cwd: FOLDER,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    },
  );
  if (status !== 0) throw new Error(`node-llama-cpp could not be installed:\n${stderr}`);
}

async function answer(child: ChildProcess): Promise<unknown> {
  const controller = new AbortController();
  const { signal } = controller;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]: unknown[]) => message),
      once(child, 'exit', { signal }).then(() => {
        throw new Error('native llama.cpp has ended');
      }),
      once(AbortSignal.timeout(ANSWER_MS), 'abort', { signal }).then(() => {
        throw new Error(`native llama.cpp did not answer in ${ANSWER_MS / 1000} s`);
      }),
    ]);
  } finally {
    controller.abort();
  }
}
