import type { NeedEngine } from '../protocol/discovery.ts';
import { Leader } from './leader.ts';
import { engineSettings, type StartOptions } from './start-options.ts';

/** On it, a page without a service worker asks the others to link to the broker. */
export const BROKER_CHANNEL = 'localtext:broker';

/** This tab's part in serving: it takes part in the election, and hands requests' ports to its worker while it leads. */
export interface Membership {
  leader: Leader;
  stop: AbortController;
}

/**
 * Joins the election. A page that goes into the back/forward cache leaves it, and joins again when it is shown.
 */
export function joinElection(options: StartOptions): Membership {
  const leader = new Leader(engineSettings(options));
  const stop = new AbortController();
  const { signal } = stop;
  listen(leader, signal);
  awaitBroker(leader, signal);

  let away = new AbortController();
  let running = Promise.resolve();
  const run = (): void => {
    away = new AbortController();
    const turn = AbortSignal.any([signal, away.signal]);
    running = running.then(() => leader.run(turn));
  };
  run();
  addEventListener('pagehide', () => away.abort(), { signal });
  addEventListener('pageshow', ({ persisted }) => persisted && run(), { signal });
  return { leader, stop };
}

function listen(leader: Leader, signal: AbortSignal): void {
  const { serviceWorker } = navigator;
  // Absent in an insecure context, and in some private windows.
  if (!serviceWorker) return;
  serviceWorker.addEventListener(
    'message',
    ({ data, ports: [port] }: MessageEvent<NeedEngine | null>) => {
      if (port && data?.type === 'localtext:need-engine') leader.serve(port, data.version);
    },
    { signal },
  );
  serviceWorker.startMessages();
}

function awaitBroker(leader: Leader, signal: AbortSignal): void {
  const channel = new BroadcastChannel(BROKER_CHANNEL);
  channel.onmessage = () => {
    void import('./broker-link.ts').then((module) => module.linkToBroker(leader));
  };
  signal.addEventListener('abort', () => channel.close(), { once: true });
}
