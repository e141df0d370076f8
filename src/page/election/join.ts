import { DEFAULT_CATALOG_HASH } from '#catalog';
import { pauseWhenAsked, settingsChannel, PROTOCOL_VERSION, type NeedEngine } from '#protocol';
import { Mutex } from '#base';
import { ElectionMember } from './election-member.ts';
import { findServiceWorkers } from '../registration.ts';
import type { EngineSettings } from './engine-worker.ts';

/**
 * Membership of this tab: it takes part in the election, and hands requests' ports to its worker while it
 * leads.
 */
export interface Membership {
  member: ElectionMember;
  /** Leaves the election once all who joined have left. Must be called once. */
  leave(): void;
}

/** Election members by scope. */
const joined = new Map<string, { member: ElectionMember; stop: AbortController; members: number }>();

/** Joins the app's election, once a page: a second caller shares the first one's place and its settings. */
export function joinElection(scope: string, settings: EngineSettings): Membership {
  const mine = joined.get(scope) ?? { ...takePart(scope, settings), members: 0 };
  joined.set(scope, mine);
  mine.members++;
  return {
    member: mine.member,
    leave() {
      mine.members--;
      if (mine.members > 0) return;
      if (joined.get(scope) === mine) joined.delete(scope);
      mine.stop.abort();
    },
  };
}

/**
 * Takes part in the election. A page that freezes or goes into the back/forward cache leaves, and returns
 * when it is shown or thawed.
 */
function takePart(
  scope: string,
  settings: EngineSettings,
): { member: ElectionMember; stop: AbortController } {
  const member = new ElectionMember(scope, settings);
  const stop = new AbortController();
  const { signal } = stop;
  listen(member, signal);

  let term: AbortController | null = null;
  const mutex = new Mutex();
  const run = (): void => {
    if (term) return;
    term = new AbortController();
    const either = AbortSignal.any([signal, term.signal]);
    mutex
      .run(() => member.run(either))
      .catch((error: unknown) => console.error('localtext: this tab cannot run an engine', error));
  };
  const pause = (): void => {
    term?.abort();
    term = null;
  };
  run();
  shareSettings(member, settings, signal);
  pauseWhenAsked(scope, signal);
  addEventListener('pagehide', pause, { signal });
  addEventListener('pageshow', run, { signal });
  document.addEventListener('freeze', pause, { signal });
  document.addEventListener('resume', run, { signal });
  return { member, stop };
}

/**
 * Tabs with other settings, or of another version, queue behind the last tab that joined: its settings are
 * the current ones of the site.
 */
function shareSettings(member: ElectionMember, settings: EngineSettings, signal: AbortSignal): void {
  const catalog = settings.catalog ?? DEFAULT_CATALOG_HASH;
  const mine = JSON.stringify([PROTOCOL_VERSION, { ...settings, catalog }]);
  const channel = new BroadcastChannel(settingsChannel(member.scope));
  channel.onmessage = ({ data }) => data !== mine && void member.queueAgain();
  signal.addEventListener('abort', () => channel.close());
  // Sent once this tab's own request for the lock is in the queue.
  void Promise.resolve()
    .then(() => navigator.locks.query())
    .then(() => signal.aborted || channel.postMessage(mine))
    .catch(() => undefined);
}

function listen(member: ElectionMember, signal: AbortSignal): void {
  const serviceWorker = findServiceWorkers();
  if (!serviceWorker) return;
  serviceWorker.addEventListener(
    'message',
    ({ data, ports: [port] }: MessageEvent<NeedEngine | null>) => {
      if (!port || data?.type !== 'localtext:need-engine') return;
      // `serve()` refuses other versions of this app.
      if (data.scope !== member.scope) return;
      if (data.isLost) member.takeOver();
      member.serve(port, data.version);
    },
    { signal },
  );
  serviceWorker.startMessages();
}
