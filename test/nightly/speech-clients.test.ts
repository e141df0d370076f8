import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { findPython } from '../../src/node/cli/pull/wheels.ts';
import { bridge } from '../support/http-bridge.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { clipPath, SENTENCE, speechModel } from '../support/speech/speech-model.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Client libraries that the repository does not depend on, outside the browser: openai for Python, @ai-sdk/openai and LangChain. */

const run = promisify(execFile);
const HERE = join(import.meta.dirname, 'speech-clients');
const OPENAI_PYTHON = 'openai==3.54.0';
const AI_SDK = ['@ai-sdk/openai@3.0.131', 'ai@6.0.322', 'zod@4.6.7'];
const LANGCHAIN = [
  '@langchain/community@1.1.29',
  '@langchain/core@1.4.0',
  '@langchain/classic@1.0.50',
  '@langchain/textsplitters@1.0.2',
  'openai@6.49.0',
];
const CLIP = clipPath('sentence.wav');

let model: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let site: string;
let key: string;
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('clients');
  model = await speechModel();
  context = await launch();
  const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
  const opened = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`);
  key = opened.key;
  site = await bridge(opened.page);
});

test('openai for Python', async () => {
  const python = await findPython(AbortSignal.timeout(60_000));
  if (!python) throw new Error('This test needs Python 3.11 or later, with pip.');
  const [command = '', ...args] = python;
  const packages = join(folder, 'python');
  await run(command, [...args, '-m', 'pip', 'install', '--quiet', '--target', packages, OPENAI_PYTHON]);
  const program = join(HERE, 'openai_client.py');
  const { stdout } = await run(command, [...args, program, `${site}/v1`, key, CLIP, packages]);
  expect(JSON.parse(stdout)).toEqual({
    text: SENTENCE,
    srt: expect.stringMatching(/^1\n00:00:00,000 --> 00:00:02,\d{3}\nThe boat/) as string,
    words: SENTENCE.replace('.', '')
      .split(' ')
      .map((word) => [word, expect.any(Number)]),
    segments: [` ${SENTENCE}`],
    events: ['transcript.text.delta', 'transcript.text.done'],
    streamed: SENTENCE,
    refused: [400, 'language'],
  });
});

test('experimental_transcribe of the AI SDK', async () => {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  await run('npm', ['install', '--prefix', folder, ...flags, ...AI_SDK]);
  const program = join(folder, 'ai-sdk.mjs');
  await copyFile(join(HERE, 'ai-sdk.mjs'), program);
  const { stdout } = await run(process.execPath, [program, `${site}/v1`, key, CLIP]);
  expect(JSON.parse(stdout)).toEqual({
    text: SENTENCE,
    language: 'en',
    seconds: expect.closeTo(2.6, 0) as number,
    words: SENTENCE.replace('.', '').split(' '),
    refused: { statusCode: 400, message: expect.stringMatching(/`language` de/) as string },
  });
});

test("LangChain's loader of sound", async () => {
  // It names dozens of optional packages as peers.
  const flags = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel', 'error'];
  await run('npm', ['install', '--prefix', folder, ...flags, ...LANGCHAIN]);
  const program = join(folder, 'langchain.mjs');
  await copyFile(join(HERE, 'langchain.mjs'), program);
  const { stdout } = await run(process.execPath, [program, `${site}/v1`, key, CLIP]);
  expect(JSON.parse(stdout)).toEqual([SENTENCE]);
});
