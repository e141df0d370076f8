import { expect, test } from 'vitest';

import { type FileStorage, type NewFile, storeFiles } from '../../../../src/weights/added/new-files.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { openStore } from '../open-store.ts';

test('progress does not step back where a file is downloaded once more; a file that was cleared meanwhile is told', async () => {
  const nothing = async () => undefined;
  const storage = {
    store: () => Promise.resolve(openStore(new MemoryBackend(), 'http://site.invalid/')),
    modelStorage: {
      makeRoom: nothing,
      withRoom: (_files: unknown, _signal: unknown, work: () => Promise<void>) => work(),
      unfinished: { expected: async () => [], begin: nothing, end: nothing },
    },
  } as unknown as FileStorage;
  const file: NewFile = {
    name: 'm.gguf',
    size: 10,
    phase: 'download',
    read: async () => new Uint8Array(),
    describe: async () => ({ path: 'm.gguf', bytes: 10, sha256: 'a'.repeat(64) }),
    store: async (_, { onProgress }) => [4, 8, 0, 5, 10].forEach(onProgress),
  };
  const seen: number[] = [];
  const storing = {
    files: [file],
    bytes: 10,
    slug: 'm',
    signal: new AbortController().signal,
    onProgress: ({ loadedBytes }: { loadedBytes: number }) => seen.push(loadedBytes),
  };
  await expect(storeFiles(storage, storing, nothing)).rejects.toThrow('was cleared');
  expect(seen).toEqual([4, 8, 8, 8, 10]);
});
