import { KEEP_ALIVE_MS, KEEP_ALIVE_PATH } from '../protocol/local-paths.ts';

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
  // It is the asking that counts; a page without a service worker has no answer to give.
  fetch(KEEP_ALIVE_PATH, { cache: 'no-store' }).catch(() => undefined);
}
