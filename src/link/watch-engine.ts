import { PING_MS, whenStuck, type WireError } from '#base';
import { LEADER_EXIT_CHANNEL, engineLock, whenReleased, type LeaderExit } from '#protocol';
import { dismiss, openDirect } from './direct-port.ts';

/** Reason why an engine does not answer. */
export type EngineEnd =
  /** Its tab was closed or reloaded, which is no fault of the question. */
  | { type: 'leaderExited' }
  /** The job gives way to others. */
  | { type: 'paused' }
  /** `cause`: the error that the engine could still send. */
  | { type: 'died'; cause: WireError | null };

/**
 * Time to wait for the last messages of a worker that has ended, which may arrive after its lock is released.
 */
const LAST_MESSAGES_MS = 50;

type Report = (end: EngineEnd) => void;

/** Running watches, by the epoch of the engine. */
const watches = new Map<string, ReturnType<typeof startWatch>>();

/** One watch for all requests of a thread: hundreds of locks and channels would delay each other request. */
function startWatch(scope: string, locks: LockManager, epoch: string) {
  const reports = new Set<Report>();
  const stopped = new AbortController();
  const report: Report = (end) => {
    for (const each of reports) each(end);
  };
  // The browser takes seconds to end a worker with busy threads: its page's message arrives first.
  const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<LeaderExit | null>) => {
    if (data?.epoch === epoch) report({ type: 'leaderExited' });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onReleased = (): void => {
    timer = setTimeout(() => {
      // A request that comes now has another watch: this one reports only once.
      watches.delete(epoch);
      report({ type: 'died', cause: null });
    }, LAST_MESSAGES_MS);
  };
  // iOS stops the process of a hidden tab without an event; its locks stay held.
  Promise.race([
    whenReleased(locks, engineLock(epoch), stopped.signal),
    whenStuck(() => ping(scope, epoch), stopped.signal),
  ]).then(onReleased, (error: unknown) => {
    if (!stopped.signal.aborted) throw error;
  });
  const stop = (): void => {
    stopped.abort();
    clearTimeout(timer);
    channel.close();
  };
  return { reports, stop };
}

/** Resolves when the worker of that epoch answers. */
const ping = (scope: string, epoch: string): Promise<void> =>
  new Promise((resolve) => {
    const port = openDirect(scope);
    port.onmessage = ({ data }) => data.type === 'connected' && data.epoch === epoch && resolve();
    setTimeout(() => dismiss(port), PING_MS);
  });

/** Reports the end of that epoch's worker. The function returned stops the watch. */
export function watchEngine(scope: string, locks: LockManager, epoch: string, report: Report): () => void {
  const watch = watches.get(epoch) ?? startWatch(scope, locks, epoch);
  watches.set(epoch, watch);
  const each: Report = (end) => report(end);
  watch.reports.add(each);
  return () => {
    watch.reports.delete(each);
    if (watch.reports.size > 0) return;
    if (watches.get(epoch) === watch) watches.delete(epoch);
    watch.stop();
  };
}
