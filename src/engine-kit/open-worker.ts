import { serverError, type ServiceError } from '#base';
import { blockedMessage, onBlockedWorker, trustedScriptUrl } from '#browser';

/** Starts a worker. @param onFailure called if it cannot start, or fails: calls to it would never settle */
export function openWorker(
  url: string,
  options: WorkerOptions,
  onFailure: (error: ServiceError) => void,
): Worker {
  // The violation listener is on the global scope: it must not outlive the worker, or its owner leaks.
  const watch = new AbortController();
  let failed = false;
  const fail = (error: ServiceError): void => {
    watch.abort();
    if (!failed) onFailure(error);
    failed = true;
  };
  onBlockedWorker(url, (directive) => fail(workerBlocked(url, directive)), watch.signal);
  let worker: Worker;
  try {
    worker = new Worker(trustedScriptUrl(url), options);
  } catch (error) {
    watch.abort();
    throw workerBlocked(url, "require-trusted-types-for 'script'", error);
  }
  const terminate = worker.terminate.bind(worker);
  worker.terminate = () => {
    watch.abort();
    terminate();
  };
  worker.addEventListener('message', () => watch.abort(), { once: true });
  // A blocked script fires this event, too. Wait, so that the policy violation is reported first.
  worker.addEventListener('error', (event) => setTimeout(() => fail(notStarted(url, event))), { once: true });
  return worker;
}

function notStarted(url: string, event: Event): ServiceError {
  const { pathname } = new URL(url);
  const why = event instanceof ErrorEvent && event.message;
  return serverError(
    why ? 'engine_crashed' : 'worker_blocked',
    why
      ? 'The engine stopped on an internal error. Try again: the next request reloads it.'
      : `The browser did not start the worker ${pathname.split('/').at(-1)}. Check that the server sends it with status 200, a JavaScript type and, in an isolated page, Cross-Origin-Embedder-Policy; then reload the page.`,
  );
}

/** @param directive Content-Security-Policy directive that blocks the script */
export const workerBlocked = (script: string, directive: string, cause?: unknown): ServiceError =>
  serverError('worker_blocked', blockedMessage(script, directive), cause);
