import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';

import { quotients, type Row } from './row.ts';
import type { Stage } from './stage.ts';

/** node-llama-cpp is only for the bench and has 100 MB: it is installed here when the row is measured. */
const FOLDER = resolve('dist/bench/native');
const GGUF = resolve('public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
const DECODED = 64;
const ANSWER_MS = 120_000;

export async function native({ page, rounds }: Stage): Promise<Row> {
  const threads = await page.evaluate(() => window.bench.calls.engineThreads());
  await install();
  const child = fork('tools/bench/native/llama.mjs', [FOLDER, GGUF, String(threads)]);
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    await answer(child);
    for (let round = 0; round <= rounds; round++) {
      ours.push(await page.evaluate((count) => window.bench.calls.decodeOurs(count), DECODED));
      child.send(DECODED);
      theirs.push(Number(await answer(child)));
    }
  } finally {
    child.kill();
  }
  const measured = { ours: ours.slice(1), theirs: theirs.slice(1) };
  return {
    name: 'decode on the CPU through /v1 ÷ native llama.cpp',
    measures: `Tokens a second between the first and the last of ${DECODED}, one stream, in turn: ours in the page, and node-llama-cpp with its prebuilt binary, the same weights and as many threads (${threads}).`,
    unit: 'ratio',
    values: quotients(measured.ours, measured.theirs),
    goal: { atLeast: 0.8 },
    detail: { 'native, tokens/s': measured.theirs, 'ours, tokens/s': measured.ours },
  };
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
