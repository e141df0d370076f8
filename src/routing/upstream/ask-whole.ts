import { ServiceError } from '../../errors/service-error.ts';
import { cutShort } from './upstream-failures.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** Maximum time until the headers of an answer that is computed before its first byte. */
export const SILENCE_MS = 240_000;

/** Maximum time to send such an answer, which is computed already. */
export const MAX_BODY_MS = 60_000;

/**
 * Asks a server for an answer in one piece, and counts the request among those that run.
 * @throws ServiceError; the signal's reason when aborted
 */
export async function askWhole<T>(
  server: UpstreamServer,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  server.running++;
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServiceError ? error : cutShort();
  } finally {
    server.running--;
  }
}
