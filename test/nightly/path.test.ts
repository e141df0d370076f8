import { expect, test } from 'vitest';

import { filesOf, measureWay } from '../../tools/bench/path/way.ts';

/** Figures that `npm run path` found. */
const MAX_FILES = 47;
const MAX_ITERATORS = 4;

test('a streamed chat runs no more files, and its tokens pass no more async iterators, than it did', async () => {
  const way = await measureWay();
  expect(way.tokens).toBeGreaterThan(40);
  expect(way.threads.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['service worker', 'engine worker']),
  );
  expect(way.iterators.length).toBeGreaterThan(0);
  expect(way.iterators.length, way.iterators.join(', ')).toBeLessThanOrEqual(MAX_ITERATORS);
  expect(filesOf(way).length, filesOf(way).join(', ')).toBeLessThanOrEqual(MAX_FILES);
});
