import { abortable, backoff, createDeferred, protocolMismatch, serverError, ServiceError } from '#base';
import {
  leaderLock,
  leaderUrlLock,
  queryLocks,
  PROTOCOL_VERSION,
  type ServePort,
  type RequesterPort,
} from '#protocol';
import type { EngineConnection, EngineTransport, Ways } from './engine-connection.ts';
import { dismiss, openDirect } from './direct-port.ts';
import { watchEngine } from './watch-engine.ts';

/** An engine worker that has taken our port. */
export interface FoundEngine {
  port: RequesterPort;
  epoch: string;
  /** Tells the engine that no further question follows. */
  dismiss(): void;
}

/** Pauses between the offers of one call. */
const OFFERS = { firstMs: 150, maxMs: 1000 };

/** Unanswered offers, of about 10 s, after which the leader counts as lost. */
const LOST_OFFERS = 12;

/**
 * Asks until a worker takes one of the ports. Earlier ports stay open meanwhile: a worker that is still
 * starting accepts the oldest first.
 * @throws ServiceError `engine_unavailable` at the deadline, `protocol_mismatch`, or the leader's error
 */
export async function findEngine(
  connection: Required<EngineConnection>,
  signal: AbortSignal,
): Promise<FoundEngine> {
  const { scope, transport } = connection;
  const ports = new Set<RequesterPort>();
  const found = createDeferred<FoundEngine | { error: unknown }>();
  const fail = (error: unknown): void => found.resolve({ error });
  let isOver = false;

  const listen = (port: RequesterPort): void => {
    ports.add(port);
    port.onmessage = ({ data }) => {
      unanswered = 0;
      if (data.type !== 'error' && data.type !== 'connected') return;
      const isOther = data.type === 'connected' && data.version !== PROTOCOL_VERSION;
      const answer = isOther ? ({ type: 'error', error: protocolMismatch().wire } as const) : data;
      transport.heard?.(ways, answer);
      if (answer.type === 'error') ways.fail(answer.error);
      else found.resolve({ port, epoch: answer.epoch, dismiss: () => dismiss(port) });
    };
  };
  const ways: Ways = {
    get isOver() {
      return isOver;
    },
    openPort() {
      const { port1, port2 } = new MessageChannel();
      listen(port1);
      if (isOver) dismiss(port1);
      return port2;
    },
    openDirect: () => listen(openDirect(scope)),
    fail: (error) => fail(new ServiceError(error)),
  };

  let offers = 0;
  let unanswered = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  // In pauses, not by the clock: a page that was frozen asks on, and may itself lead again.
  let leftMs = connection.deadlineMs;
  const giveUp = () => void engineUnavailable(connection).then(fail, fail);
  const offer = (): void => {
    const pauseMs = Math.min(leftMs, backoff(offers, OFFERS));
    leftMs -= pauseMs;
    timer = setTimeout(leftMs > 0 ? offer : giveUp, pauseMs);
    const isLost = unanswered > 0 && unanswered % LOST_OFFERS === 0;
    unanswered++;
    transport.offer(ways, offers++ > 0, isLost).catch(fail);
  };
  try {
    signal.throwIfAborted();
    offer();
    const engine = await abortable(found.promise, signal);
    if ('error' in engine) throw engine.error;
    ports.delete(engine.port);
    return engine;
  } finally {
    isOver = true;
    clearTimeout(timer);
    for (const port of ports) dismiss(port);
  }
}

async function engineUnavailable(connection: Required<EngineConnection>): Promise<ServiceError> {
  const { scope, locks, deadlineMs } = connection;
  const { held = [] } = await queryLocks(locks).catch(() => ({ held: [] }));
  const names = held.map(({ name = '' }) => name);
  const before = leaderUrlLock(scope, '');
  const url = names.find((name) => name.startsWith(before))?.slice(before.length);
  const holder = `holds the Web Lock ${leaderLock(scope)}`;
  const tab = url ? `The tab ${url}, which ${holder},` : `The tab that ${holder}`;
  const seconds = Math.round(deadlineMs / 1000);
  return serverError(
    'engine_unavailable',
    names.includes(leaderLock(scope))
      ? `${tab} did not respond within ${seconds} s. Open that tab and close its dialog, or close the tab, and try again.`
      : `No tab of this site offered an engine within ${seconds} s. Open one that calls start(), and try again. If one is open, another script may hold its Web Lock ${leaderLock(scope)}.`,
  );
}

/**
 * Keeps the link to the engine that answered last: the next port goes straight to it, and not through the
 * tabs. If that engine has ended, or does not accept in time, the tabs are asked as before, for one of the requests
 * that wait: hundreds of ports for each tab would hold up all tabs for seconds.
 */
export function linked(transport: EngineTransport, scope: string, locks: LockManager): EngineTransport {
  let link: MessagePort | null = null;
  let stopWatching = (): void => {};
  /** Requests that wait, the oldest first, with the link to which they were offered last. */
  const waiting = new Map<Ways, MessagePort | null>();
  const forget = (): void => {
    stopWatching();
    link?.close();
    link = null;
  };
  const offerByLink = (ways: Ways): void =>
    link?.postMessage({ type: 'localtext:serve' } satisfies ServePort, [ways.openPort()]);
  return {
    async offer(ways, again, isLost) {
      if (waiting.get(ways) === link) forget();
      for (const each of waiting.keys()) if (each.isOver) waiting.delete(each);
      waiting.set(ways, link);
      if (link) offerByLink(ways);
      else if (waiting.keys().next().value === ways) await transport.offer(ways, again, isLost);
    },
    heard(ways, answer) {
      waiting.delete(ways);
      const isConnected = answer.type === 'connected';
      if (isConnected && answer.link) {
        forget();
        ({ link } = answer);
        stopWatching = watchEngine(scope, locks, answer.epoch, forget);
      } else if (link) return;
      for (const each of waiting.keys())
        if (!isConnected) each.fail(answer.error);
        else if (link) offerByLink(each);
        else each.openDirect();
      waiting.clear();
    },
  };
}
