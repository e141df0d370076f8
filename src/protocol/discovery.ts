import { nameIn } from './locks.ts';
import type { WireError } from '../errors/wire-error.ts';

/**
 * Service worker → every window of the origin: a request waits, and the port with it leads to the asker.
 * The leader hands the port to its engine worker; other tabs close it. A page that is not the leader stays silent.
 */
export interface NeedEngine {
  type: 'localtext:need-engine';
  version: number;
  /** Scope of the service worker that asks. Windows of other apps get the message, too. */
  scope: string;
}

/** Page → service worker, answered on the port that comes with it. */
export type PageToServiceWorker =
  /** Take control of this page now (first visit, Shift+reload). */
  | { type: 'localtext:claim' }
  /** Asks which protocol this service worker speaks. */
  | { type: 'localtext:version' }
  /** Tells a waiting version to take over. While a request runs, the reply is the error `requests_running`. */
  | { type: 'localtext:skip-waiting' }
  /** The request with this `CALL_HEADER` is aborted. Has no port, and is not answered. */
  | { type: 'localtext:abort'; id: string };

export type ServiceWorkerReply =
  { type: 'ok'; version: number } | { type: 'error'; version: number; error: WireError };

/**
 * Page → broker (a SharedWorker, where there is no service worker), and, as far as it has a port, broker → the page
 * that leads.
 */
export type BrokerMessage = NeedEngine | { type: 'localtext:leading' };

/** Leader page, or an asker by its link → engine worker: the port of one request. */
export interface ServePort {
  type: 'localtext:serve';
}

/**
 * Leader page → callers that wait for its worker, on the BroadcastChannel of this name, as it closes, reloads or freezes: what
 * happens to its worker is then no fault of a request. Only a hint: a lock says that the worker is gone.
 */
export const LEADER_EXIT_CHANNEL = 'localtext:leader-exit';
export interface LeaderExit {
  epoch: string;
}

/**
 * Name of the BroadcastChannel on which an asker calls the engine worker itself, where the leading page does not pass
 * its port on: a dialog is open there, or a script keeps it busy. The BroadcastChannel of the call's name then stands
 * in for a port.
 */
export const callChannel = (scope: string): string => `${nameIn(scope)}:call`;
export interface CallEngine {
  /** Random, and used once. */
  channel: string;
}

/** Name of the BroadcastChannel on which a page without a service worker asks the others to link to the broker. */
export const brokerChannel = (scope: string): string => `${nameIn(scope)}:broker`;
