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
   * accepts.
   */
  offer(ways: Ways, again: boolean): Promise<void>;
  /** A worker has connected; ports that are posted on `link` reach it without its page. */
  linkTo?(epoch: string, link: MessagePort): void;
}

/** Ways to the engine worker; each opens another port. */
export interface Ways {
  /**
   * A port for a page that may lead. The leader passes it to its engine worker; other pages close it, or drop
   * it.
   */
  openPort(): MessagePort;
  /**
   * Opens a port to the worker itself, in case its page does not pass ports on. Such a port cannot transfer objects.
   */
  openDirect(): void;
}
