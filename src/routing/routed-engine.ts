import type { EngineConnection } from '#link';
import {
  keepLock,
  requestLock,
  type EngineRequester,
  type EngineRequest,
  type ModelEntry,
  type StageEvent,
} from '#protocol';
import { withJobFields, type EventOf, type JobOf, type Kind } from '#jobs';
import type { RunOnServer } from './upstream/upstream-server.ts';
import { withFailover } from './failover.ts';
import type { Target } from './model-targets.ts';

/** Runs a job on a server, with code that is loaded at the first such job: it would delay the service worker's start. */
async function* runUpstream<K extends Kind>(...run: Parameters<RunOnServer<K>>): ReturnType<RunOnServer<K>> {
  yield* (await import('./upstream/upstream-jobs.ts')).runOnServer<K>(...run);
}

/**
 * Passes each job to the device or to a server. If one fails before anything was sent, the next answers in
 * the same call.
 * @param targetsOf null: no server takes part in the model
 */
export function routedEngine(
  device: EngineRequester,
  { scope, locks }: Pick<EngineConnection, 'scope' | 'locks'>,
  targetsOf: (model: ModelEntry) => Promise<Target[]> | null,
): EngineRequester {
  return {
    run<K extends Kind>(job: JobOf<K>, request: EngineRequest): AsyncIterable<StageEvent | EventOf<K>> {
      const { id, model, signal } = request;
      const targets = job.deviceOnly || !model ? null : targetsOf(model);
      if (!targets) return device.run(job, request);
      // The device's client holds this lock, too.
      const hold = (): Promise<() => void> => keepLock(locks, requestLock(scope, id), signal);
      return withFailover(targets, signal, ({ server, variants }, hasNext) =>
        server
          ? whileHeld(hold, runUpstream(server, job, hasNext ? server.abortIfUnreachable(signal) : signal))
          : device.run<K>(withJobFields(job, { variants }), request),
      );
    },
  };
}

async function* whileHeld<T>(
  hold: () => Promise<() => void>,
  answer: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const release = await hold();
  try {
    yield* answer;
  } finally {
    release();
  }
}
