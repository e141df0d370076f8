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

/** Reports the end of that epoch's worker. The function returned stops the watch. */
export function watchEngine(locks: LockManager, epoch: string, report: (end: EngineEnd) => void): () => void {
  const watch = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The browser takes seconds to end a worker with busy threads: its page's message arrives first.
  const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<LeaderExit | null>) => {
    if (data?.epoch === epoch) report({ type: 'leaderExited' });
  };
  const onReleased = (): void => {
    timer = setTimeout(() => report({ type: 'died', cause: null }), LAST_MESSAGES_MS);
  };
  whenReleased(locks, engineLock(epoch), watch.signal).then(onReleased, (error: unknown) => {
    if (!watch.signal.aborted) throw error;
  });
  return () => {
    watch.abort();
    clearTimeout(timer);
    channel.close();
  };
}
