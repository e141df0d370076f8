import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const PACKAGES = [
  '@mlc-ai/web-llm',
  '@huggingface/transformers',
  'workbox-window',
  'vite',
  'comlink',
  'vitest',
  'playwright',
];
const ENTRIES = [
  'package.json',
  'tsconfig.json',
  'vite.config.ts',
  'src',
  'sw',
  'public',
  'test',
  'README.md',
];

const folders = ['src', 'sw', 'playground', 'test'];
const sources = folders
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  .filter((path) => /\.tsx?$/.test(path) && !/node_modules|card\.test\.ts$/.test(path))
  .concat('vite.config.ts')
  .map((path) => readFileSync(path, 'utf8'));

test.each(PACKAGES)('%s is declared, and a source imports what it has at run time', (name) => {
  const declared = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  expect(declared['devDependencies']).toHaveProperty([name]);
  const imported = new RegExp(`^(?:import (?!type\\b)[^;]*?from |.*\\bimport\\()'${name}(?:/[^']*)?'`, 'm');
  expect(sources.some((text) => imported.test(text))).toBe(true);
});

test.each(ENTRIES)('%s is at the top level', (name) => {
  expect(existsSync(name)).toBe(true);
});
