import { createHash } from 'node:crypto';

import { expect, test, vi } from 'vitest';

import type { ServiceError } from '../../../src/base/errors/service-error.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { replace } from '../../../src/weights/backends/storage-backend.ts';
import { bring, openStore } from './open-store.ts';
import { keepLock, weightLock, weightWriters } from '../../../src/protocol/locks.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

const bytes = new Uint8Array(1000).map((_, index) => index % 251);
const file = { path: 'm/a.bin', bytes: 1000, sha256: createHash('sha256').update(bytes).digest('hex') };
const options = { signal: new AbortController().signal, onProgress: () => undefined };

test('downloads once, and not again', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const store = openStore(new MemoryBackend(), 'http://site.test/models/');
  await store.file(file, options);
  const { blob, intact } = await store.file(file, options);
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
  expect(await intact).toBe(true);
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('a download goes on when a script steals its lock', async () => {
  const locks = new FakeLocks();
  vi.stubGlobal('fetch', async () => {
    locks.steal(weightLock(file.sha256))();
    return new Response(bytes);
  });
  const store = openStore(new MemoryBackend(), 'http://site.test/', locks);
  expect((await store.file(file, options)).blob.size).toBe(file.bytes);
});

test('two workers never download the same file at once', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const [backend, locks] = [new MemoryBackend(), new FakeLocks()];
  const stores = [1, 2].map(() => openStore(backend, 'http://site.test/', locks));
  await Promise.all(stores.map((store) => store.file(file, options)));
  expect(fetched).toHaveBeenCalledTimes(1);
});

test.each([true, false])('another tab writes the file, and answers: %s', async (answers) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const [backend, locks] = [new MemoryBackend(), new FakeLocks()];
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const release = await keepLock(locks.manager, weightLock(file.sha256));
  const channel = new BroadcastChannel(weightLock(file.sha256));
  channel.onmessage = () => answers && channel.postMessage('alive');
  const open = (mustStore: boolean) =>
    openStore(backend, 'http://site.test/', locks).file(file, { ...options, mustStore });
  const [opened, added] = [open(false), open(true).catch((error: ServiceError) => error.code)];
  for (let second = 0; second < 41; second++) {
    await vi.advanceTimersByTimeAsync(1000);
    // Messages of channels arrive in real time.
    await new Promise(setImmediate);
  }
  expect(fetched).toHaveBeenCalledTimes(answers ? 0 : 1);
  release();
  expect((await opened).blob.size).toBe(file.bytes);
  // What a stopped tab keeps open is in memory only.
  expect(backend.files.has(file.sha256)).toBe(answers);
  if (!answers) expect(await added).toBe('weights_in_use');
  channel.close();
  vi.useRealTimers();
});

test('a file given by hand is held to its hash', async () => {
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  await expect(bring(store, file, new Blob([bytes.slice(1)]))).rejects.toThrow(/m\/a\.bin/);
  await bring(store, file, new Blob([bytes]));
  // Another size for the same hash, as of a host that has other bytes by now, costs no stored file.
  for (const size of [999, 1001])
    await expect(store.file({ ...file, bytes: size }, options)).rejects.toThrow(/has 1000 bytes/);
  expect(await store.missing([file])).toEqual([]);
});

test('what another app of the origin is writing is neither dropped by cancel nor deleted', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const backend = new MemoryBackend();
  const locks = new FakeLocks();
  const store = openStore(backend, 'http://site.test/', locks);
  await replace(backend, `${file.sha256}.part`, '{"version":null,"chunks":[0],"parts":[]}');
  const release = await keepLock(locks.manager, weightLock(file.sha256));
  const written = await keepLock(locks.manager, weightWriters(file.sha256));
  await store.cancel([file]);
  expect(await store.storedBytes([file])).toBe(1000);
  await expect(store.delete(file)).rejects.toMatchObject({ wire: { code: 'weights_in_use' } });
  await backend.remove(`${file.sha256}.part`);
  written();
  const cancelling = store.cancel([file]);
  // Complete by now.
  await replace(backend, file.sha256, 'x'.repeat(999));
  await replace(backend, `${file.sha256}.json`, '{}');
  release();
  await cancelling;
  expect(await store.missing([file])).toEqual([]);
});

test('a file that is needed again by the time that its deletion gets the lock stays', async () => {
  const locks = new FakeLocks();
  const store = openStore(new MemoryBackend(), 'http://site.test/', locks);
  await bring(store, file, new Blob([bytes]));
  // Another deletion may take long on a busy machine.
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  const release = await keepLock(locks.manager, weightLock(file.sha256));
  const isNeeded = vi.fn(() => true);
  const deletion = store.delete(file, isNeeded);
  expect(isNeeded).not.toHaveBeenCalled();
  release();
  await deletion;
  expect(await store.missing([file])).toEqual([]);
});

test('a lost file that the user added is named with its date and size, and not requested', async () => {
  const fetched = vi.fn();
  vi.stubGlobal('fetch', fetched);
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  const added = { name: 'my model.gguf', at: Date.UTC(2026, 2, 14) };
  await expect(store.file({ ...file, bytes: 98_362_432, added }, options)).rejects.toMatchObject({
    message: expect.stringContaining('my model.gguf (98 MB), added from this device on 2026-03-14') as string,
    wire: { code: 'weights_unavailable' },
  });
  expect(fetched).not.toHaveBeenCalled();
});
