import { expect, test, vi } from 'vitest';

import { isOfLoad, load } from '../../../../playground/client/downloads.ts';

const ready = vi.hoisted(() => vi.fn<() => Promise<void>>());
vi.mock('../../../../playground/client/localtext.ts', () => ({
  handle: Promise.resolve({ ready }),
  modelStatuses: { value: [], peek: () => [] },
}));

test('a failure is that of the load until the model is loaded: a reply may fail later for the same reason', async () => {
  ready.mockRejectedValueOnce(new Error('Too little memory.')).mockResolvedValueOnce();
  await load('m');
  expect(isOfLoad('m', 'Too little memory.')).toBe(true);
  await load('m', true);
  expect(isOfLoad('m', 'Too little memory.')).toBe(false);
});
