import { expect, test, vi } from 'vitest';

import { keysOf } from '../../../src/page/keys.ts';
import { loadChunk } from '../../../src/page/load-chunk.ts';

const missing = new TypeError('Failed to fetch dynamically imported module');

test('a script that does not come is an error of the library, which names the update', async () => {
  const chunk = Promise.reject<unknown>(missing);
  await expect(loadChunk(chunk)).rejects.toMatchObject({
    name: 'LocaltextError',
    code: 'build_replaced',
    message: expect.stringContaining('Call update(), then reload'),
    cause: missing,
  });
});

/** Makes a method of the keys' script, or throws. */
const script = vi.hoisted(() => ({ list: (): (() => Promise<string[]>) => async () => [] }));
vi.mock('../../../src/keys/key-administrator.ts', () => ({
  KeyAdministrator: class {
    readonly list = script.list();
  },
}));

test('keys answer once their script has come, although it did not at first', async () => {
  vi.stubGlobal('navigator', {});
  const keys = keysOf(() => '/');
  script.list = () => {
    throw missing;
  };
  await expect(keys.list()).rejects.toThrow();
  script.list = () => async () => ['a'];
  await expect(keys.list()).resolves.toEqual(['a']);
});
