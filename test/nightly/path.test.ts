import { expect, test } from 'vitest';

import { filesOf, measureWay } from '../../tools/bench/path/way.ts';

const MAX_ITERATORS = 4;

test('the path of a streamed chat: files of every thread, none of a neighbour, and few async iterators a token', async () => {
  const way = await measureWay();
  expect(way.tokens).toBeGreaterThan(40);
  expect(way.threads.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['service worker', 'engine worker']),
  );
  expect(way.iterators.length).toBeGreaterThan(0);
  expect(way.iterators.length, way.iterators.join(', ')).toBeLessThanOrEqual(MAX_ITERATORS);
  // A neighbour of a function that ran does not count.
  expect(filesOf(way)).not.toContainEqual(expect.stringContaining('transcriptions'));
  expect(filesOf(way).length).toBeGreaterThan(20);
});
