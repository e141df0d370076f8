import { KEEP_ALIVE_MS, KEEP_ALIVE_PATH, PROTOCOL_HEADER } from '../protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';

/** Keeps the service worker awake while any request runs. */
export class KeepAlive {
  #requests = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Counts a request in; the function returned counts it out, once. */
  hold(): () => void {
    if (this.#requests++ === 0) this.#timer = setInterval(ping, KEEP_ALIVE_MS);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--this.#requests === 0) clearInterval(this.#timer);
    };
  }
}

function ping(): void {
  // Only the request matters; without a service worker it fails.
  const headers = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
  fetch(KEEP_ALIVE_PATH, { cache: 'no-store', headers }).catch(() => undefined);
}
