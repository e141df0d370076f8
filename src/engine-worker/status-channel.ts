import {
  PROTOCOL_VERSION,
  statusChannel,
  WATCH_STATUS,
  type EngineStatus,
  type StatusMessage,
} from '#protocol';

const PERIOD_MS = 200;

/** Broadcasts the status to all tabs after changes, at most five times a second. */
export class StatusChannel {
  readonly #channel: BroadcastChannel;
  readonly #status: () => EngineStatus;
  #pending = false;
  /** Whether anybody needs to know that a request has begun or ended. */
  isWatched = false;

  constructor(scope: string, status: () => EngineStatus) {
    this.#channel = new BroadcastChannel(statusChannel(scope));
    this.#channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data !== WATCH_STATUS || this.isWatched) return;
      this.isWatched = true;
      this.changed();
    };
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
