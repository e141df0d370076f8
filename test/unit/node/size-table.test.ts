import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { sizeTable } from '../../../src/node/size-table.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const Q4 = 'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const wasm = new Map([['wllama.wasm', 8_763_949]]);

async function folderWith(files: Readonly<Record<string, number>>): Promise<string> {
  const folder = await tempFolder('sizes');
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), '');
    await truncate(join(folder, path), bytes);
  }
  return folder;
}

test('prints what a visitor downloads and what is deployed, including files that no visitor downloads', async () => {
  const folder = await folderWith({ [Q4]: 98_362_432, 'mine/model.gguf': 5_000_000 });
  const lines = await sizeTable(folder, wasm, 70_000_000);
  expect(lines.slice(0, 5).map((line) => line.split(/ {2,}/))).toEqual([
    ['MB', 'a visitor downloads', 'and its engine', 'you deploy'],
    ['smollm2-135m-instruct-q4_1', '98.4', '8.8', '98.4'],
    ['other files', '5.0'],
    ['pages, scripts, engines', '70.0'],
    ['in all', '173.4'],
  ]);
  expect(new Set(lines.slice(0, 5).map((line) => line.length)).size).toBe(1);
});

test('a model of the hub has its own row', async () => {
  const folder = await folderWith({ 'smollm2-360m-instruct/SmolLM2-360M-Instruct-Q4_K_M.gguf': 270_590_880 });
  const [, row] = await sizeTable(folder, wasm, null);
  expect(row?.split(/ {2,}/)).toEqual(['smollm2-360m-instruct-q4_k_m', '270.6', '8.8', '270.6']);
});

test('a folder that is not there has no table', async () => {
  expect(await sizeTable('/nowhere/models', wasm, 1)).toEqual([]);
});
