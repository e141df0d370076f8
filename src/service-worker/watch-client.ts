import { followSignals, type ClientWatch } from '#service';

const FIRST_POLL_MS = 250;
const POLL_INTERVAL_MS = 1000;

/** Subset of `Clients` that is used here. */
interface ClientList {
  get(id: string): Promise<unknown>;
}

/** Clients that have been listed: their next requests begin without a lookup. */
const listed = new Set<string>();

/**
 * Aborts when the page or worker that sent a request is gone. Before the headers are sent, browsers do not
 * tell the service worker; after them, Chromium keeps the stream of a page in the back/forward cache open for
 * seconds. A client that is not listed at first is not watched: browsers differ in which workers they list.
 * @param signals signals that also abort the watch
 */
export function watchClient(
  clients: ClientList,
  id: string,
  signals: readonly AbortSignal[] = [],
): ClientWatch {
  const { abort: gone, stop: unfollow } = followSignals(signals);
  let seen = false;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function poll(nextMs: number, isListed = false): Promise<void> {
    const client = isListed || (await find(clients, id));
    if (stopped) return;
    if (client === undefined && seen) {
      listed.delete(id);
      gone.abort(new DOMException('The client is gone.', 'AbortError'));
      return;
    }
    if (client) listed.add(id);
    seen ||= Boolean(client);
    timer = setTimeout(() => void poll(POLL_INTERVAL_MS), nextMs);
  }
  // Polls at once: the client may leave before the first interval is over.
  void poll(FIRST_POLL_MS, listed.has(id));

  return {
    gone: gone.signal,
    stop() {
      stopped = true;
      clearTimeout(timer);
      unfollow();
    },
  };
}

/** Running lookups, by the client's id: a page may have hundreds of requests. */
const looks = new Map<string, Promise<unknown>>();

function find(clients: ClientList, id: string): Promise<unknown> {
  const ask = (): Promise<unknown> => clients.get(id).catch(() => null);
  const look = looks.get(id) ?? ask().finally(() => looks.delete(id));
  looks.set(id, look);
  return look;
}

/**
 * Time after an SDK's own time limit at which its request is ended, in seconds. The header has whole seconds.
 * OpenAI's client sends its first two retries within a second: they follow the job of the request.
 */
const GRACE_S = 2;

/** Aborts after the time limit that an SDK names: it has given the request up then, and cannot say so. */
export function watchLimit({ headers }: Request): ClientWatch {
  const seconds = headers.get('x-stainless-timeout') ?? '';
  const limit = new AbortController();
  const end = (): void => limit.abort(new DOMException('The time is over.', 'TimeoutError'));
  const timer = /^\d{1,6}$/.test(seconds) ? setTimeout(end, (Number(seconds) + GRACE_S) * 1000) : undefined;
  return { gone: limit.signal, stop: () => clearTimeout(timer) };
}
