import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('docs/architecture.md lists files that are there', () => {
  const [, list = ''] =
    /<!-- npm run path -->([^]*?)<!-- end -->/.exec(readFileSync('docs/architecture.md', 'utf8')) ?? [];
  const paths = [...list.matchAll(/^- `([^`]+)`$/gm)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});
