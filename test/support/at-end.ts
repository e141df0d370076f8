type End = () => unknown;

const browsers: End[] = [];
const others: End[] = [];
/** Set by end-all.ts: ends something after the running test. False: no test runs. */
let endWithTest: (end: End) => boolean = () => false;
let isForFile = false;

/**
 * Ends something after the test that began it; what a hook began, after the file's last test. Browsers end first: they
 * hold connections and files. Outside of Vitest the caller ends it.
 */
export function atEnd(end: End, isBrowser = false): void {
  if (isForFile || !endWithTest(end)) (isBrowser ? browsers : others).push(end);
}

/** Begins in a test what the tests after it share. */
export async function forFile<T>(begin: () => Promise<T>): Promise<T> {
  isForFile = true;
  try {
    return await begin();
  } finally {
    isForFile = false;
  }
}

export const setEndWithTest = (next: typeof endWithTest) => void (endWithTest = next);

export async function endAll(): Promise<void> {
  const failures: unknown[] = [];
  for (const end of [...browsers.splice(0).toReversed(), ...others.splice(0).toReversed()])
    await Promise.resolve()
      .then(end)
      .catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
