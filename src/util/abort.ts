/** Settles as the promise does, or rejects with the signal's reason as soon as that aborts. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Nobody looks at it any more: its failure must not become an unhandled rejection.
    promise.catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves after that many milliseconds; rejects with the signal's reason when that aborts first. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return signal ? abortable(slept, signal).finally(() => clearTimeout(timer)) : slept;
}

/** What the promise resolves to, or null when it takes longer. @throws what it fails with before that */
export async function withTimeout<T>(promise: Promise<T>, milliseconds: number): Promise<T | null> {
  const settled = new AbortController();
  const late = delay(Math.max(0, milliseconds), settled.signal).then(
    () => null,
    () => null,
  );
  return Promise.race([promise, late]).finally(() => settled.abort());
}
