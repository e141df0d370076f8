import { expect } from 'vitest';

/** The error that a promise rejects with. */
export const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('nothing was thrown'),
    (error: Error & { wire?: unknown }) => error,
  );
