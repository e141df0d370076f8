import type { WireError } from '#base';
import { LEADER_EXIT_CHANNEL, engineLock, whenReleased, type LeaderExit } from '#protocol';

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

/** One watch for all requests of a thread: hundreds of locks and channels would delay each other request. */
class EngineWatch {
  readonly reports = new Set<Report>();
  readonly #watch = new AbortController();
  // The browser takes seconds to end a worker with busy threads: its page's message arrives first.
  readonly #channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(locks: LockManager, epoch: string) {
    const report: Report = (end) => {
      for (const each of this.reports) each(end);
    };
    this.#channel.onmessage = ({ data }: MessageEvent<LeaderExit | null>) => {
      if (data?.epoch === epoch) report({ type: 'leaderExited' });
    };
    const onReleased = (): void => {
      this.#timer = setTimeout(() => {
        // A request that comes now has another watch: this one reports only once.
        watches.delete(epoch);
        report({ type: 'died', cause: null });
      }, LAST_MESSAGES_MS);
    };
    whenReleased(locks, engineLock(epoch), this.#watch.signal).then(onReleased, (error: unknown) => {
      if (!this.#watch.signal.aborted) throw error;
    });
  }

  stop(): void {
    this.#watch.abort();
    clearTimeout(this.#timer);
    this.#channel.close();
  }
}

/** Running watches, by the epoch of the engine. */
const watches = new Map<string, EngineWatch>();

/** Reports the end of that epoch's worker. The function returned stops the watch. */
export function watchEngine(locks: LockManager, epoch: string, report: Report): () => void {
  const watch = watches.get(epoch) ?? new EngineWatch(locks, epoch);
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
