const FIRST_POLL_MS = 250;
const POLL_INTERVAL_MS = 1000;

/**
 * Aborts when the page or worker that asked is gone: a service worker is not told of it before the headers are sent.
 * A client that is never seen is not watched, as browsers differ in which workers they list.
 */
export function watchClient(clients: Clients, id: string): { gone: AbortSignal; stop(): void } {
  const gone = new AbortController();
  let seen = false;
  let stopped = false;
  let timer = setTimeout(look, FIRST_POLL_MS);

  async function look(): Promise<void> {
    const client = await clients.get(id).catch(() => null);
    if (stopped) return;
    if (client === undefined && seen) {
      gone.abort(new DOMException('The page that asked is gone.', 'AbortError'));
      return;
    }
    seen ||= Boolean(client);
    timer = setTimeout(look, POLL_INTERVAL_MS);
  }

  return {
    gone: gone.signal,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
