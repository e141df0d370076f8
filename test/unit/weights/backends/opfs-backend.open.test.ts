import { expect, test } from 'vitest';

import { openAccess } from '../../../../src/weights/backends/opfs-backend.ts';
import { sleep, virtualTime } from '../../../support/virtual-time.ts';

virtualTime();

const OPEN_MS = 3000;

/** One outcome a try; each handle tells whether it was closed. */
function fileThat(...outcomes: (() => Promise<unknown>)[]) {
  let tries = 0;
  const createSyncAccessHandle = () =>
    (outcomes[Math.min(tries++, outcomes.length - 1)]?.() ??
      Promise.reject(new Error())) as Promise<FileSystemSyncAccessHandle>;
  return { open: async () => ({ createSyncAccessHandle }), tries: () => tries };
}

const handle = () => {
  const opened = { closed: false, close: () => void (opened.closed = true) };
  return opened;
};
const never = () => new Promise(() => undefined);
const held = () => Promise.reject(new DOMException('held', 'NoModificationAllowedError'));

test('a file that does not open is asked for again; one that opens too late is closed', async () => {
  const late = handle();
  const good = handle();
  const slow = () => sleep(5 * OPEN_MS).then(() => late);
  const { open } = fileThat(never, slow, async () => good);
  expect(await openAccess(open)).toBe(good);
  await expect.poll(() => late.closed).toBe(true);
  expect(good.closed).toBe(false);
});

test('one that opens slowly is taken, though later tries find it held', async () => {
  const good = handle();
  const { open, tries } = fileThat(() => sleep(3.5 * OPEN_MS).then(() => good), held);
  expect(await openAccess(open)).toBe(good);
  expect(tries()).toBe(4);
  expect(good.closed).toBe(false);
});

test('a file that another still holds is waited for', async () => {
  const good = handle();
  const { open } = fileThat(held, async () => good);
  expect(await openAccess(open)).toBe(good);
});

test.for([never, held])('a file that never opens: an error that says what to do', async (outcome) => {
  const { open, tries } = fileThat(outcome);
  await expect(openAccess(open)).rejects.toMatchObject({
    message: expect.stringContaining('restart the browser') as string,
    wire: { code: 'storage_failed' },
  });
  expect(tries()).toBe(8);
});

test('any other failure is told at once', async () => {
  const { open, tries } = fileThat(() => Promise.reject(new DOMException('no', 'NotAllowedError')));
  await expect(openAccess(open)).rejects.toMatchObject({ name: 'NotAllowedError' });
  expect(tries()).toBe(1);
});
