/** Minimum number of bytes per measurement. Fewer measure the server's latency rather than the connection. */
const MIN_BYTES = 2 ** 20;
/** Maximum `downlink` that Chromium reports, in megabits per second, even for faster connections. */
const DOWNLINK_CAP = 10;

interface ConnectionNavigator {
  connection?: { downlink?: number };
}

/** Measures the speed of this worker's downloads. */
export class DownloadRate {
  #bytes = 0;
  #ms = 0;
  readonly #navigator: ConnectionNavigator;

  constructor(
    navigator: ConnectionNavigator = (globalThis.navigator as ConnectionNavigator | undefined) ?? {},
  ) {
    this.#navigator = navigator;
  }

  /** Measured rate. Before the first download, the rate that the browser reports; null if unknown. */
  get bytesPerSecond(): number | null {
    if (this.#ms > 0) return (this.#bytes / this.#ms) * 1000;
    const { downlink = 0 } = this.#navigator.connection ?? {};
    return downlink > 0 && downlink < DOWNLINK_CAP ? (downlink * 1e6) / 8 : null;
  }

  /** Measures one download. @returns a function to call with its loaded bytes, the first time with those already stored */
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
