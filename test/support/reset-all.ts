import { afterEach, vi } from 'vitest';

/** Undoes what a unit test put in the place of globals, functions and timers. */
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
