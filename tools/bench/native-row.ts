import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';

import { textOfTokens } from './page/long-text.ts';
import { inTurn, ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

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
  const ask = async (message: number | string): Promise<number> => {
    child.send(message);
    return Number(await answer(child));
  };
  /** @param salt keeps the prompt out of the cache */
  const prefill = (salt: string, tokens: number) =>
    inTurn(
      rounds,
      {
        'native, ms': (round) => ask(textOfTokens(`${salt}${round}`, tokens)),
        'ours, ms': (round) =>
          page.evaluate(([id, length]) => window.bench.calls.prefillOurs(id, length), [
            `${salt}${round}`,
            tokens,
          ] as const),
      },
      true,
    );
  try {
    await answer(child);
    const decoded = await inTurn(
      rounds,
      {
        'ours, tokens/s': () => page.evaluate((count) => window.bench.calls.decodeOurs(count), DECODED),
        'native, tokens/s': () => ask(DECODED),
      },
      true,
    );
    const prefilled = await prefill('n', PREFILLED);
    const long = await prefill('m', LONG);
    return [
      ratio('decode on the CPU through /v1 ÷ native llama.cpp', decoded, { atLeast: 0.85 }),
      ratio('prefill on the CPU through /v1 ÷ native llama.cpp', prefilled, { atLeast: 1.2 }),
      ratio('prefill of 2,000 tokens on the CPU through /v1 ÷ native llama.cpp', long, { atLeast: 1.2 }),
    ];
  } finally {
    child.kill();
  }
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
