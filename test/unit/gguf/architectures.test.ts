import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { CHAT_ARCHITECTURES, ENCODERS, REFUSED_ARCHITECTURES } from '../../../src/gguf/architectures.ts';
import { SECTION, sectionOf, sectionsOf } from '../../../src/node/engine-files/linker/wasm-module.ts';
import { llamaArchitectures } from '../../support/llama-architectures.ts';

const FILE = 'src/gguf/architectures.ts';
const named = [...CHAT_ARCHITECTURES, ...ENCODERS, ...REFUSED_ARCHITECTURES.keys()];
const packaged = llamaArchitectures();

test('each architecture of the pinned llama.cpp is accepted, or refused with a reason', () => {
  expect(packaged).toContain('llama');
  const added = packaged.filter((name) => !named.includes(name));
  const advice = `@wllama/wllama has architectures that ${FILE} does not name: add each to one of its lists`;
  expect(added, advice).toEqual([]);
});

test('no other architecture is accepted or refused, and none twice', () => {
  const removed = named.filter((name) => !packaged.includes(name));
  const advice = `${FILE} names architectures that @wllama/wllama does not have: delete them`;
  expect(removed, advice).toEqual([]);
  expect(named.filter((name, index) => named.indexOf(name) !== index)).toEqual([]);
});

test('the build with 64-bit addresses has the same', () => {
  const wasm = readFileSync('node_modules/@wllama/wllama/esm/wasm/wllama.wasm');
  const data = Buffer.from(sectionOf(sectionsOf(wasm), SECTION.data));
  expect(named.filter((name) => !data.includes(`${name}\0`))).toEqual([]);
});
