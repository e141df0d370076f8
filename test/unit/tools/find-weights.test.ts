import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { tempFolder } from '../../support/temp-folder.ts';
import { chatMetadata, oneTensor, writeGguf } from '../../support/write-gguf.ts';
import { findWeights } from '../../../tools/bench/quality/find-weights.ts';

const SMOL_LM = 'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const QWEN = 'qwen3.5-0.8b/Qwen3.5-0.8B-Q4_K_M.gguf';

let folder: string;
beforeAll(async () => {
  folder = await tempFolder('found');
  for (const path of [SMOL_LM, QWEN]) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), writeGguf({ metadata: chatMetadata, tensors: [oneTensor] }));
  }
});

test.each([
  ['amber-phoenix-4', SMOL_LM, 'smollm2-135m-instruct-q4_1'],
  ['smollm2-135m-instruct-q4_1', SMOL_LM, 'smollm2-135m-instruct-q4_1'],
  ['qwen3.5-0.8b', QWEN, 'qwen3.5-0.8b-q4_k_m'],
])('finds the stored weights of %s', async (name, path, variant) => {
  const found = await findWeights(name, folder);
  expect(found).toMatchObject({ paths: [join(folder, path)], variant: { engine: 'wllama', name: variant } });
  expect(found.variant).not.toHaveProperty('optIn');
});

test('takes a GGUF by its path', async () => {
  const path = join(folder, QWEN);
  expect(await findWeights(path, folder)).toMatchObject({
    paths: [path],
    variant: { name: 'tiny-llama-q8-0', license: 'unknown' },
  });
});

test.each([
  ['granite-4.0-350m', /no weights in .*: npx localtext pull granite-4\.0-350m-q4_k_m/],
  ['gemma-4-e2b', /needs a GPU/],
  ['jade-mole-4', /no chat model "jade-mole-4".*amber-phoenix-4.*qwen3\.5-0\.8b-q4_k_m/],
])('says why it cannot measure %s', async (name, why) => {
  await expect(findWeights(name, folder)).rejects.toThrow(why);
});
