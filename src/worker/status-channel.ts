import { statusChannel, type EngineStatus, type StatusMessage } from '../protocol/worker-control.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';

const PERIOD_MS = 200;

/** Tells every tab what changed, five times a second at most. */
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
