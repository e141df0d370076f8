import { nameIn } from './locks.ts';
import type { WireError } from '#base';

/**
 * Service worker → every window of the origin: a request waits, and the port with it leads to the requester. The
 * leader hands the port to its engine worker; other tabs close it. A page that is not the leader stays
 * silent.
 */
export interface NeedEngine {
  type: 'localtext:need-engine';
  version: number;
  /** Scope of the service worker that asks. Windows of other apps get the message, too. */
  scope: string;
  /** Whether the leader has not answered for seconds: a visible tab takes its place. */
  isLost?: boolean;
}

/** Page → service worker, answered on the port that comes with it. */
export type PageToServiceWorker =
  /** Take control of this page now (first visit, Shift+reload). */
  | { type: 'localtext:claim' }
  /** Asks which protocol this service worker speaks. */
  | { type: 'localtext:version' }
  /**
   * Tells a waiting version to take over. While a request runs, the reply is the error `requests_running`.
   */
  | { type: 'localtext:skip-waiting' }
  /** The request with this `ABORT_HEADER` is aborted. Has no port, and is not answered. */
  | { type: 'localtext:abort'; id: string }
  /** URLs of a page, and of the files that it loaded, without this service worker. Has no port, and is not answered. */
  | { type: 'localtext:loaded'; page: string; parts: string[] };

export type ServiceWorkerReply =
  /** `fromServer`: the server has just sent the asking page, so it is not from the files of this version's build. */
  | { type: 'ok'; version: number; fromServer?: boolean }
  | { type: 'error'; version: number; error: WireError };

/** Leader page, or a requester by its link → engine worker: the port of one request. */
export interface ServePort {
  type: 'localtext:serve';
}

/**
 * Leader page → requesters that wait for its worker, on the BroadcastChannel of this name, when it closes,
 * reloads or freezes: no request has caused the end of its worker. Only a hint: a lock shows that the worker
 * has ended.
 */
export const LEADER_EXIT_CHANNEL = 'localtext:leader-exit';
export interface LeaderExit {
  epoch: string;
}

/**
 * Name of the BroadcastChannel on which a tab that joins the election sends the settings of its engine, as
 * text.
 */
export const settingsChannel = (scope: string): string => `${nameIn(scope)}:settings`;

/**
 * Name of the BroadcastChannel on which a requester asks the engine worker itself: a page, or the service
 * worker if a dialog or a busy script holds up the leading page. A BroadcastChannel with the port's name
 * stands in for a port. The leading page answers for a worker that does not start.
 */
export const directChannel = (scope: string): string => `${nameIn(scope)}:direct`;
export interface DirectPort {
  /** Random name, used once. */
  channel: string;
}

/** Opens one channel per port. On a shared channel every reply would reach all other requesters. */
export function listenDirectly(scope: string, onPort: (port: BroadcastChannel) => void): BroadcastChannel {
  const direct = new BroadcastChannel(directChannel(scope));
  direct.onmessage = ({ data }: MessageEvent<DirectPort | null>) => {
    const name = String(data?.channel);
    if (name.startsWith(`${direct.name}:`)) onPort(new BroadcastChannel(name));
  };
  return direct;
}
