import { afterEach, beforeEach, vi } from 'vitest';

/**
 * Runs the timers of a file's tests in order, each as soon as nothing else is left to do; the clocks follow them. Not
 * for tests with real servers or files, which no clock waits for.
 */
export function virtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
    vi.setTimerTickMode('nextTimerAsync');
  });
  afterEach(() => void vi.useRealTimers());
}

/** Waits in virtual time. */
export function sleep(milliseconds: number): Promise<void> {
  if (!vi.isFakeTimers())
    throw new Error('Call virtualTime() in this file: unit tests do not wait in real time.');
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
