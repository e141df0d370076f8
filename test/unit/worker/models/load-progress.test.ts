import { createHash } from 'node:crypto';

import { expect, test } from 'vitest';

import { loadProgress, onlyForward } from '../../../../src/worker/models/load-variant.ts';
import { MemoryBackend } from '../../../../src/model-files/backends/open-backend.ts';
import { openStore } from '../../model-files/open-store.ts';

const file = (path: string, bytes: number) => ({
  path,
  bytes,
  sha256: createHash('sha256').update(path).digest('hex'),
});

test('progress never steps back, though a file is fetched after the load began', async () => {
  const seen: [string, number][] = [];
  const options = {
    signal: new AbortController().signal,
    onProgress: onlyForward((phase, loaded) => seen.push([phase, loaded])),
  };
  const [first, late] = [file('a', 100), file('b', 10)];
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  const progress = await loadProgress(store, [first, late], options);
  progress.file(first, 60);
  progress.file(first, 100);
  options.onProgress('load', 50, 110);
  progress.file(late, 5);
  progress.file(late, 10);
  options.onProgress('load', 110, 110);
  // A damaged file is fetched, and the engine loads again.
  const again = await loadProgress(store, [first, late], options);
  again.file(first, 100);
  options.onProgress('load', 50, 110);
  expect(seen).toEqual([
    ['download', 0],
    ['download', 60],
    ['download', 100],
    ['load', 50],
    ['load', 50],
    ['load', 110],
    ['load', 110],
  ]);
});
