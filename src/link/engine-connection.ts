import type { WireError } from '#base';
import type { EngineMessage } from '#protocol';

export interface EngineConnection {
  /** Scope of the app whose engine is called. */
  scope: string;
  transport: EngineTransport;
  locks: LockManager;
  /** How long to look for an engine before giving up, in milliseconds. */
  deadlineMs?: number;
}

/** A way to reach the page that leads. */
export interface EngineTransport {
  /**
   * Tries one of the ways to reach the engine worker. Called again, with a growing pause, until a worker
   * accepts. `isLost`: neither it nor its page has answered for seconds, so another page should lead.
   */
  offer(ways: Ways, again: boolean, isLost: boolean): Promise<void>;
  /** The first answer to a request. */
  heard?(ways: Ways, answer: FirstAnswer): void;
}

/** Message of a worker that has taken a port, or of a page that refuses it. */
export type FirstAnswer = Extract<EngineMessage, { type: 'connected' | 'error' }>;

/** Ways of a request to the engine worker; each opens another port. */
export interface Ways {
  /** Whether the request waits for no port any more. */
  readonly isOver: boolean;
  /**
   * A port for a page that may lead. The leader passes it to its engine worker; other pages close it, or drop
   * it.
   */
  openPort(): MessagePort;
  /**
   * Opens a port to the worker itself, in case its page does not pass ports on. Such a port cannot transfer objects.
   */
  openDirect(): void;
  fail(error: WireError): void;
}
