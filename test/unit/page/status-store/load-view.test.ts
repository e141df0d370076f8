import { expect, test } from 'vitest';

import type { LocaltextStatus } from '../../../../src/page/localtext.ts';
import { viewOf } from '../../../../src/page/status-store/load-view.ts';
import { INITIAL_MODEL, INITIAL_STATE, type ModelState } from '../../../../src/page/status-store/state.ts';

const view = (model: Partial<ModelState>, gpu: string | null = 'apple', options = {}, kind = 'chat') => {
  const status = { gpu, models: [{ id: 'owl', kind }] } as LocaltextStatus;
  return viewOf('owl', { ...INITIAL_MODEL, ...model }, { ...INITIAL_STATE, status }, options);
};
const download = (loadedBytes: number, totalBytes: number) =>
  ({ model: 'owl', phase: 'download', loadedBytes, totalBytes }) as const;

test('a first visit: what is downloaded, and what a device without a GPU means', () => {
  expect(view({ state: 'idle', downloadBytes: 98_400_000, secondsLeft: 600 })).toEqual({
    text: 'The download happens once: owl stays in this browser and needs no network then.',
    details: '98 MB',
    button: 'Download',
  });
  expect(view({ state: 'idle', downloadBytes: 1_130_000_000, secondsLeft: null }, null)).toMatchObject({
    text: expect.stringContaining('No GPU was found'),
    details: '1.1 GB',
  });
});

test('a download that runs: bytes, time left and cancel; what follows has none', () => {
  expect(
    view({ state: 'loading', progress: download(20e6, 98e6), downloadBytes: 98e6, secondsLeft: 12 }),
  ).toEqual({
    text: 'Downloading owl…',
    details: '20 MB of 98 MB, about 12 s',
    bar: { value: 20e6, max: 98e6 },
    button: 'Cancel',
  });
  expect(view({ state: 'loading', progress: download(1e6, 98e6), secondsLeft: 200 }).details).toBe(
    '1 MB of 98 MB, about 3 min',
  );
  expect(view({ state: 'loading' })).toEqual({ text: 'Loading owl…', bar: {}, button: 'Cancel' });
  // Another tab's load goes on.
  expect(view({ state: 'loading' }, null, { cancelled: true }).button).toBeUndefined();
});

test('a model that was unloaded for another one: which, and why', () => {
  expect(view({ state: 'idle', downloadBytes: 0, unloadedFor: 'qwen2.5-1.5b' })).toEqual({
    text: 'owl was unloaded, because qwen2.5-1.5b needed its memory. The next request loads it again.',
    button: 'Load',
  });
});

test('sizes and times: never 1000 MB, never 0 s', () => {
  expect(view({ state: 'idle', downloadBytes: 999_600_000 }).details).toBe('1.0 GB');
  const { details } = view({ state: 'loading', progress: download(98e6, 98e6), secondsLeft: 0 });
  expect(details).toBe('98 MB of 98 MB, about 1 s');
});

test('what is stored, ready or failed', () => {
  expect(view({ state: 'idle', downloadBytes: 0 }).button).toBe('Load');
  expect(view({ state: 'ready' })).toEqual({ text: 'owl is ready and runs on this device.' });
  expect(view({ state: 'ready' }, null).text).toMatch(/No GPU was found/);
  expect(view({ state: 'ready' }, null, {}, 'embedding').text).toBe('owl is ready and runs on this device.');
  expect(view({ state: 'failed', error: new Error('No engine answers.') })).toEqual({
    text: 'owl could not be loaded.',
    details: 'No engine answers.',
    button: 'Try again',
  });
});
