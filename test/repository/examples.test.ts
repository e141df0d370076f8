import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

test('each example begins with the installation of the packed package, which no registry has', async () => {
  const { name, version } = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, string>;
  const names = readdirSync('examples').filter((each) => existsSync(join('examples', each, 'package.json')));
  expect(names).toHaveLength(13);
  for (const each of names)
    expect(await readFile(join('examples', each, 'README.md'), 'utf8'), each).toContain(
      `\n\`\`\`sh\nnpm install ../../${name}-${version}.tgz\n`,
    );
});

/** Each example is a folder to copy, so that each has the stylesheet. */
test('the examples have the same stylesheet', async () => {
  const paths = readdirSync('examples', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('style.css') && !path.includes('node_modules') && !path.includes('dist'),
  );
  const texts = await Promise.all(paths.map((path) => readFile(join('examples', path), 'utf8')));
  expect(new Set(paths.map((path) => path.split(/[\\/]/)[0])).size).toBe(13);
  expect(paths.filter((_, index) => texts[index] !== texts[0])).toEqual([]);
});
