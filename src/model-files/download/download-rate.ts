/** Shorter stretches say more about the server's answer time than about the connection. */
const MIN_BYTES = 2 ** 20;
/** Chromium reports no more than this, in megabits a second, however fast the connection is. */
const DOWNLINK_CAP = 10;

interface ConnectionNavigator {
  connection?: { downlink?: number };
}

/** Speed of this session's downloads. */
export class DownloadRate {
  #bytes = 0;
  #ms = 0;
  readonly #navigator: ConnectionNavigator;

  constructor(
    navigator: ConnectionNavigator = (globalThis.navigator as ConnectionNavigator | undefined) ?? {},
  ) {
    this.#navigator = navigator;
  }

  /** Measured rate; before the first download the one that the browser reports; null: unknown. */
  get bytesPerSecond(): number | null {
    if (this.#ms > 0) return (this.#bytes / this.#ms) * 1000;
    const { downlink = 0 } = this.#navigator.connection ?? {};
    return downlink > 0 && downlink < DOWNLINK_CAP ? (downlink * 1e6) / 8 : null;
  }

  /** @returns to be called with the bytes of one download that are there, first with those that were there before */
  measure(): (loadedBytes: number) => void {
    let last: { at: number; bytes: number } | null = null;
    return (bytes) => {
      const at = performance.now();
      last ??= { at, bytes };
      if (bytes - last.bytes < MIN_BYTES) return;
      this.#bytes += bytes - last.bytes;
      this.#ms += at - last.at;
      last = { at, bytes };
    };
  }
}
