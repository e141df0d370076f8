import { KEEP_ALIVE_MS, KEEP_ALIVE_PATH, PROTOCOL_HEADER, PROTOCOL_VERSION } from '#protocol';

let running = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Keeps the service worker awake while any request runs. @returns a function to call once, when the request ends */
export function keepAwake(): () => void {
  if (running++ === 0) timer = setInterval(ping, KEEP_ALIVE_MS);
  return () => {
    if (--running === 0) clearInterval(timer);
  };
}

function ping(): void {
  // Only the request matters: it fails without a service worker.
  const headers = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
  fetch(KEEP_ALIVE_PATH, { cache: 'no-store', headers }).catch(() => undefined);
}
