import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { PreparingDelay } from '../../../../playground/client/preparing-delay.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('preparing is shown once it takes over a second; downloads and loads are shown at once', () => {
  const delay = new PreparingDelay();
  expect(delay.hides('download')).toBe(false);
  expect(delay.hides('prepare')).toBe(true);
  vi.advanceTimersByTime(900);
  expect(delay.hides('prepare')).toBe(true);
  vi.advanceTimersByTime(200);
  expect(delay.hides('prepare')).toBe(false);
  expect(delay.hides('load')).toBe(false);
  expect(delay.hides('prepare')).toBe(true);
});
