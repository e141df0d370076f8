import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  devDependencies: Record<string, string>;
};

/** The packages that localtext is made with, and where each is used. */
test.each([
  ['@mlc-ai/web-llm', 'src'],
  ['@huggingface/transformers', 'src'],
  ['workbox-window', 'src'],
  ['comlink', 'src'],
  ['vite', 'src'],
  ['vitest', 'test'],
  ['playwright', 'test'],
])('%s is declared, and imported in %s', (name, folder) => {
  expect(devDependencies).toHaveProperty([name]);
  const imported = new RegExp(`(from|import\\() ?['"]${name}['"]`);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  expect(files.some((path) => imported.test(readFileSync(join(folder, path), 'utf8')))).toBe(true);
});

test.each([
  'README.md',
  'package.json',
  'tsconfig.json',
  'vite.config.ts',
  'public/manifest.webmanifest',
  'src/index.ts',
  'sw/sw.ts',
  'test/unit',
])('%s is where a reader looks for it', (path) => {
  expect(existsSync(path)).toBe(true);
});
