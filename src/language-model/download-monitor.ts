import { EventHandler } from './event-handler.ts';

/** Reports a download to the `monitor` of `create()`, as shares of 1 that grow. */
export class DownloadMonitor {
  readonly #target = new CreateMonitor();
  readonly #signal: AbortSignal | undefined;
  #last = -1;

  /** @param monitor the page's function, which is called at once @throws what the function throws */
  constructor(monitor: ((target: EventTarget) => unknown) | undefined, signal: AbortSignal | undefined) {
    this.#signal = signal;
    monitor?.(this.#target);
  }

  /** @param share 0 to 1; the standard rounds it, so that no page learns the exact size */
  report(share: number): void {
    const loaded = Math.floor(Math.min(1, share) * 65_536) / 65_536;
    if (loaded <= this.#last || this.#signal?.aborted) return;
    this.#last = loaded;
    const init = { loaded, total: 1, lengthComputable: true };
    this.#target.dispatchEvent(new ProgressEvent('downloadprogress', init));
  }
}

export class CreateMonitor extends EventTarget {
  readonly #onDownloadProgress = new EventHandler(this, 'downloadprogress');

  get ondownloadprogress(): unknown {
    return this.#onDownloadProgress.value;
  }

  set ondownloadprogress(handler: unknown) {
    this.#onDownloadProgress.value = handler;
  }
}
