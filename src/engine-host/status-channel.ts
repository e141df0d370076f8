import { PROTOCOL_VERSION, statusChannel, type EngineStatus, type StatusMessage } from '#protocol';

const PERIOD_MS = 200;

/** Broadcasts the status to all tabs after changes, at most five times a second. */
export class StatusChannel {
  readonly #channel: BroadcastChannel;
  readonly #status: () => EngineStatus;
  #pending = false;

  constructor(scope: string, status: () => EngineStatus) {
    this.#channel = new BroadcastChannel(statusChannel(scope));
    this.#status = status;
  }

  changed(): void {
    if (this.#pending) return;
    this.#pending = true;
    setTimeout(() => {
      this.#pending = false;
      const message: StatusMessage = { version: PROTOCOL_VERSION, status: this.#status() };
      this.#channel.postMessage(message);
    }, PERIOD_MS);
  }
}
