import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The packages that localtext is made with, and the folder that has part in each. */
const PACKAGES = [
  ['@mlc-ai/web-llm', 'src'],
  ['@huggingface/transformers', 'src'],
  ['workbox-window', 'src'],
  ['comlink', 'src'],
  ['vite', 'src'],
  ['vitest', 'test'],
  ['playwright', 'test'],
] as const;
const ENTRIES = [
  'package.json',
  'tsconfig.json',
  'vite.config.ts',
  'src',
  'sw',
  'public',
  'test',
  'README.md',
  'public/manifest.webmanifest',
  'src/index.ts',
  'sw/sw.ts',
  'test/unit',
];

const sourcesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('card.test.ts'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'));

test.each(PACKAGES)('%s is declared, and a source of %s imports what it has at run time', (name, folder) => {
  const declared = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  expect(declared['devDependencies']).toHaveProperty([name]);
  const imported = new RegExp(`^(?:import (?!type\\b)[^;]*?from |.*\\bimport\\()'${name}(?:/[^']*)?'`, 'm');
  expect(sourcesOf(folder).some((text) => imported.test(text))).toBe(true);
});

test.each(ENTRIES)('%s is where a reader looks for it', (name) => {
  expect(existsSync(name)).toBe(true);
});
