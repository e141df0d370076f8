/**
 * Runs the work once the stream's `cancel()` that calls this has returned. WebKit calls `cancel()` with a lock held that
 * dispatching any event takes again, as aborting a signal does: the service worker would hang.
 */
export const afterCancel = (work: () => void): void => queueMicrotask(work);
