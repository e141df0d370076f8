import { delay } from '#base';
import { nameIn, requestsRun } from './locks.ts';

/** How long pages pause: an idle service worker has stopped by then, also on a busy device. */
const PAUSE_MS = 1000;
/** How long the message may take to reach the pages. */
const MESSAGE_MS = 50;

/** Name of the BroadcastChannel; a message is the end of the pause, in milliseconds since 1970. */
const pauseChannel = (scope: string): string => `${nameIn(scope)}:pause`;

/**
 * Pauses the app's pages while a service worker stops. If a page sends a request meanwhile, Chromium starts the
 * worker again, and the version that is to replace it waits for up to 5 minutes.
 * @returns whether no request runs, also none that began before the pause
 */
export async function pausePages(locks: LockManager, scope: string): Promise<boolean> {
  if (await requestsRun(locks, scope)) return false;
  const channel = new BroadcastChannel(pauseChannel(scope));
  channel.postMessage(Date.now() + PAUSE_MS);
  channel.close();
  await delay(MESSAGE_MS);
  return !(await requestsRun(locks, scope));
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
