import { expect, test, vi } from 'vitest';

import {
  deleteWeights,
  holdDownload,
  refreshStoredWeights,
  storedWeightsError,
} from '../../../../playground/client/stored-weights.ts';
import { attempt, keysProblem, refreshKeys } from '../../../../playground/keys/key-list.ts';

const refuse = (): Promise<never> => Promise.reject(new Error('The disk is full.'));

vi.mock('../../../../playground/client/localtext.ts', () => ({
  handle: Promise.resolve({
    keys: { list: () => Promise.resolve([]) },
    weights: { list: () => Promise.resolve({ variants: [] }), delete: () => refuse(), pause: () => refuse() },
  }),
}));

test('why a key could not be changed stays when the list is read again, until the next change', async () => {
  await attempt(refuse);
  await refreshKeys();
  expect(keysProblem.value).toBe('The disk is full.');
  await attempt(() => Promise.resolve());
  expect(keysProblem.value).toBe(null);
});

test('why weights could not be deleted stays when the list is read again', async () => {
  await deleteWeights('some');
  await refreshStoredWeights();
  expect(storedWeightsError.value).toBe('The disk is full.');
});

test('why a download could not be paused is told to its card, not to the list of stored weights', async () => {
  await refreshStoredWeights();
  storedWeightsError.value = null;
  await expect(holdDownload('some', true)).resolves.toBe('The disk is full.');
  expect(storedWeightsError.value).toBe(null);
});
