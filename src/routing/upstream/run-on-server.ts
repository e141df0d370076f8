import type { StageEvent } from '#protocol';
import { ServiceError } from '#base';
import { completeTimings, type Timings } from '#jobs';
import { cutShort } from './upstream-failures.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** Maximum time until the headers of an answer that is computed before its first byte. */
export const SILENCE_MS = 240_000;

/** Maximum time to send such an answer, which is computed already. */
export const MAX_BODY_MS = 60_000;

interface Event {
  type: string;
  timings?: Timings;
}

type Run<J, E> = (
  server: UpstreamServer,
  job: J,
  signal: AbortSignal,
) => AsyncGenerator<StageEvent | E, void, undefined>;

/**
 * Counts a job as running on its server, and aborts it there when its reader leaves.
 * @throws ServiceError; the signal's reason when aborted
 */
export const runOnServer = <J, E extends Event>(run: Run<J, E>): Run<J, E> =>
  async function* (server, job, signal) {
    signal.throwIfAborted();
    const began = performance.now();
    const readerGone = new AbortController();
    server.running++;
    try {
      yield { type: 'stage', stage: 'sent' };
      for await (const event of run(server, job, AbortSignal.any([signal, readerGone.signal]))) {
        if (event.type === 'done') completeTimings(event, 0, performance.now() - began);
        yield event;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : cutShort();
    } finally {
      server.running--;
      readerGone.abort();
    }
  };
