import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../../../src/catalog/default-catalog.ts';
import { offerModel } from '../../../../../src/node/cli/offers.ts';
import { recommend } from '../../../../../src/node/cli/pull/recommend.ts';
import { fakeTerminal, realTerminal } from '../../fake-terminal.ts';
import { HubDouble } from '../../hub-double.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

// The offer's machine; `vi.mock` is hoisted to before the imports.
vi.mock(import('../../../../../src/node/cli/pull/recommend.ts'), async (original) => ({
  ...(await original()),
  thisMachine: () => ({ gpu: true, memoryBytes: 16e9, cores: 8 }),
}));

const GB = 1e9;
const signal = new AbortController().signal;

test.each([
  ['a laptop with a GPU', { gpu: true, memoryBytes: 16 * GB, cores: 8 }, 'qwen3.5-2b-q4f16_1'],
  ['a small laptop with a GPU', { gpu: true, memoryBytes: 8 * GB, cores: 4 }, 'qwen3.5-0.8b-q4f16_1'],
  [
    'a workstation without one',
    { gpu: false, memoryBytes: 32 * GB, cores: 16 },
    'qwen2.5-1.5b-instruct-q4_k_m',
  ],
  ['a laptop without one', { gpu: false, memoryBytes: 8 * GB, cores: 8 }, 'qwen2.5-0.5b-instruct-q4_k_m'],
  ['two cores', { gpu: false, memoryBytes: 8 * GB, cores: 2 }, undefined],
])('recommended for %s', (_name, machine, expected) => {
  expect(recommend(defaultCatalog, machine)?.name).toBe(expected);
});

describe('the offer', () => {
  let cache: string;
  let hub: HubDouble;
  let said: string;
  const terminal = (answer: string): void => fakeTerminal(answer, (text) => (said += text));

  beforeEach(async () => {
    said = '';
    cache = await tempFolder('offer');
    hub = await HubDouble.start();
    vi.stubEnv('LOCALTEXT_CACHE', cache);
    vi.stubEnv('HF_ENDPOINT', hub.url);
    vi.stubEnv('CI', '');
  });

  afterEach(async () => {
    realTerminal();
    vi.unstubAllEnvs();
  });

  test.each([
    ['\n', 'qwen3.5-2b-q4f16_1'],
    ['n\n', null],
    ['', null],
  ])('answered with %j, and made once', async (answer, expected) => {
    terminal(answer);
    expect(await offerModel(undefined, signal)).toBe(expected);
    expect(said).toMatch(/qwen3\.5-2b-q4f16_1, about 1\.1 GB, for browsers with WebGPU\./);
    expect(await readdir(cache)).toEqual(['offered']);
    said = '';
    terminal('\n');
    expect(await offerModel(undefined, signal)).toBeNull();
    expect(said).toBe('');
  });

  test('none to a script, or where the hub cannot be reached; a flag decides without asking', async () => {
    expect(await offerModel(undefined, signal)).toBeNull();
    expect(await offerModel(true, signal)).toBe('qwen3.5-2b-q4f16_1');
    terminal('\n');
    expect(await offerModel(false, signal)).toBeNull();
    vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9');
    expect(await offerModel(undefined, signal)).toBeNull();
    expect(said).toBe('');
    await writeFile(join(cache, 'x'), '');
    expect(await readdir(cache)).toEqual(['x']);
  });
});
