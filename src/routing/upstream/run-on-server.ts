import type { Waiting } from '../../api/service-dependencies.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { cutShort } from './upstream-failures.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** Maximum time until the headers of an answer that is computed before its first byte. */
export const SILENCE_MS = 240_000;

/** Maximum time to send such an answer, which is computed already. */
export const MAX_BODY_MS = 60_000;

type Run<J, E> = (
  server: UpstreamServer,
  job: J,
  signal: AbortSignal,
) => AsyncGenerator<Waiting | E, void, undefined>;

/**
 * Counts a job among those that its server runs, and ends it there when its reader leaves.
 * @throws ServiceError; the signal's reason when aborted
 */
export const runOnServer = <J, E>(run: Run<J, E>): Run<J, E> =>
  async function* (server, job, signal) {
    signal.throwIfAborted();
    const readerGone = new AbortController();
    server.running++;
    try {
      yield { type: 'waiting', stage: 'sent' };
      yield* run(server, job, AbortSignal.any([signal, readerGone.signal]));
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : cutShort();
    } finally {
      server.running--;
      readerGone.abort();
    }
  };
