import { delay } from '#base';
import { nameIn, requestsRun } from './locks.ts';

/** How long pages pause: an idle service worker has stopped by then, also on a busy device. */
const PAUSE_MS = 1000;
/** How long the message may take to reach the pages. */
const MESSAGE_MS = 50;
/** How long requests that began before it may run. The rest of the pause is for the service worker. */
const DRAIN_MS = 400;

/** Name of the BroadcastChannel; a message is the end of the pause, in milliseconds since 1970. */
const pauseChannel = (scope: string): string => `${nameIn(scope)}:pause`;

/**
 * Pauses the app's pages while a service worker stops. If a page sends a request meanwhile, Chromium starts the
 * worker again, and the version that is to replace it waits for up to 5 minutes.
 * @returns whether no request runs, also none that began before the pause: a page may send one after another
 */
export async function pausePages(locks: LockManager, scope: string): Promise<boolean> {
  const channel = new BroadcastChannel(pauseChannel(scope));
  channel.postMessage(Date.now() + PAUSE_MS);
  channel.close();
  let ran = true;
  for (let waited = 0; waited < DRAIN_MS; waited += MESSAGE_MS) {
    await delay(MESSAGE_MS);
    const runs = await requestsRun(locks, scope);
    // Between two jobs of one request, as of text and a call after it, no lock is held for a moment.
    if (!runs && !ran) return true;
    ran = runs;
  }
  return false;
}

/** Pauses this page when it is asked to. Only a busy loop holds back the page's own requests. */
export function pauseWhenAsked(scope: string, signal: AbortSignal): void {
  const channel = new BroadcastChannel(pauseChannel(scope));
  channel.onmessage = ({ data }) => {
    // Not by the clock, which may be set back meanwhile.
    const until = performance.now() + Math.min(Number(data) - Date.now(), PAUSE_MS);
    while (performance.now() < until);
  };
  signal.addEventListener('abort', () => channel.close());
}
