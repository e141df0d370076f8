import type { ChatEvent, ChatJob } from '../../protocol/job.ts';
import type { EngineClient, EngineRequestOptions } from '../service-dependencies.ts';
import { ServiceError } from '../service-error.ts';

const MAX_PAUSE_MS = 5000;

/**
 * A job of a request that has been let in already: where the queue is full, it waits for its turn instead of failing
 * what has been generated so far.
 */
export async function* patientChat(
  engine: EngineClient,
  job: ChatJob,
  options: EngineRequestOptions,
): AsyncGenerator<ChatEvent, void, undefined> {
  for (;;) {
    try {
      yield* engine.chat(job, options);
      return;
    } catch (error) {
      // A full queue refuses before anything else has come.
      if (!(error instanceof ServiceError) || error.wire.status !== 429) throw error;
      await pause(Math.min(error.wire.retryAfterMs ?? 1000, MAX_PAUSE_MS), options.signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
