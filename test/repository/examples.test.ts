import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

test('each example begins with the installation of the packed package, which no registry has', async () => {
  const { name, version } = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, string>;
  const names = readdirSync('examples').filter((each) => existsSync(join('examples', each, 'package.json')));
  expect(names).toHaveLength(16);
  for (const each of names)
    expect(await readFile(join('examples', each, 'README.md'), 'utf8'), each).toContain(
      `\n\`\`\`sh\n(cd ../.. && npm ci && npm pack)\nnpm install --no-save ../../${name}-${version}.tgz\n`,
    );
});

/** Each example is a folder to copy, so that each has the stylesheet. */
test('the examples have the same stylesheet', async () => {
  const paths = readdirSync('examples', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('style.css') && !path.includes('node_modules') && !path.includes('dist'),
  );
  const texts = await Promise.all(paths.map((path) => readFile(join('examples', path), 'utf8')));
  expect(new Set(paths.map((path) => path.split(/[\\/]/)[0])).size).toBe(16);
  expect(paths.filter((_, index) => texts[index] !== texts[0])).toEqual([]);
});

const CLIENT =
  /(?:new OpenAI|createOpenAICompatible)\(\{[^}]*,[^]*?\}\)|configuration: \{[^}]*baseURL[^}]*\}/g;

test('each client in the examples and the documentation tells the engine of aborts', async () => {
  const list = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path));
  const paths = ['README.md', ...list('docs'), ...list('examples')].filter(
    (path) => /\.(?:md|jsx?|svelte)$/.test(path) && !/node_modules|dist|build|[\\/]\./.test(path),
  );
  const clients = await Promise.all(
    paths.map(async (path) =>
      Array.from((await readFile(path, 'utf8')).matchAll(CLIENT), ([code]) => ({ path, code })),
    ),
  );
  const silent = clients.flat().filter(({ code }) => !/\bfetch\b/.test(code));
  expect(clients.flat().length).toBeGreaterThan(12);
  expect(silent).toEqual([]);
});
