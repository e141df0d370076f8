import { EventHandler } from './event-handler.ts';

/** Takes the share of a download that is done, 0 to 1. The standard rounds it, so that no page learns the exact size. */
export type ReportShare = (share: number) => void;

/**
 * Reports a download to the `monitor` of `create()`, as shares of 1 that grow.
 * @param monitor the page's function, which is called at once
 * @throws what the function throws
 */
export function reportTo(
  monitor: ((target: EventTarget) => unknown) | undefined,
  signal: AbortSignal,
): ReportShare {
  const target = new CreateMonitor();
  let last = -1;
  monitor?.(target);
  return (share) => {
    const loaded = Math.floor(Math.min(1, share) * 65_536) / 65_536;
    if (loaded <= last || signal.aborted) return;
    last = loaded;
    target.dispatchEvent(new ProgressEvent('downloadprogress', { loaded, total: 1, lengthComputable: true }));
  };
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
