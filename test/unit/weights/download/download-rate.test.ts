import { expect, test, vi } from 'vitest';

import { DownloadRate } from '../../../../src/weights/download/download-rate.ts';

const MB = 1e6;

test('unknown before the first download, where the browser does not tell', () => {
  expect(new DownloadRate({}).bytesPerSecond).toBeNull();
});

test.each([
  [4, 500_000],
  // Chromium's upper bound: the connection may be of any speed above it.
  [10, null],
  [0, null],
])('a connection of %d Mbit/s as reported: %s bytes a second', (downlink, expected) => {
  expect(new DownloadRate({ connection: { downlink } }).bytesPerSecond).toBe(expected);
});

test('measured over all downloads, without what was there before', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const rate = new DownloadRate({ connection: { downlink: 4 } });
  const first = rate.measure();
  first(100 * MB);
  vi.advanceTimersByTime(1000);
  first(102 * MB);
  expect(rate.bytesPerSecond).toBe(2 * MB);
  // Too few bytes to tell.
  vi.advanceTimersByTime(1000);
  first(102.5 * MB);
  expect(rate.bytesPerSecond).toBe(2 * MB);
  vi.advanceTimersByTime(60_000);
  const second = rate.measure();
  second(0);
  vi.advanceTimersByTime(1000);
  second(6 * MB);
  expect(rate.bytesPerSecond).toBe(4 * MB);
});
