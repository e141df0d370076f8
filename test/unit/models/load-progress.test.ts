import { createHash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { loadProgress, onlyForward } from '../../../src/models/load-progress.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { openStore } from '../weights/open-store.ts';
import type { Progress } from '../../../src/protocol/status.ts';

const file = (path: string, bytes: number) => ({
  path,
  bytes,
  sha256: createHash('sha256').update(path).digest('hex'),
});

const at = (phase: Progress['phase'], loadedBytes: number, totalBytes: number): Progress => ({
  phase,
  loadedBytes,
  totalBytes,
});

test('progress never steps back, though a file is fetched after the load began', async () => {
  const seen: [string, number][] = [];
  const options = {
    signal: new AbortController().signal,
    onProgress: onlyForward(({ phase, loadedBytes }) => seen.push([phase, loadedBytes])),
  };
  const [first, late] = [file('a', 100), file('b', 10)];
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  const progress = await loadProgress(store, [first, late], options);
  progress.file(first, 60);
  progress.file(first, 100);
  progress.stored(first);
  options.onProgress(at('load', 50, 110));
  progress.file(late, 5);
  progress.stored(late);
  options.onProgress(at('load', 110, 110));
  options.onProgress(at('compile', 0, 110));
  // A damaged file is fetched, and the engine loads again.
  const again = await loadProgress(store, [first, late], options);
  again.file(first, 100);
  options.onProgress(at('load', 50, 110));
  expect(seen).toEqual([
    ['download', 0],
    ['download', 60],
    ['download', 100],
    ['download', 100],
    ['load', 50],
    ['load', 50],
    ['load', 110],
    ['compile', 0],
    ['load', 50],
  ]);
});

test('the download counts stored files and downloaded bytes', async () => {
  const seen: unknown[] = [];
  const options = {
    signal: new AbortController().signal,
    onProgress: onlyForward(({ phase, loadedBytes, totalBytes }) =>
      seen.push([phase, loadedBytes, totalBytes]),
    ),
  };
  const model = file('a', 100);
  const stored = file('tokenizer', 8);
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  vi.spyOn(store, 'missing').mockResolvedValue([model]);
  const progress = await loadProgress(store, [model, stored], options);
  progress.file(model, 40);
  progress.file(model, 100);
  progress.stored(model);
  expect(seen).toEqual([
    ['download', 8, 108],
    ['download', 48, 108],
    ['download', 108, 108],
    ['load', 0, 108],
  ]);
});
