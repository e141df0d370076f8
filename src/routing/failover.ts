import { asServiceError } from '#base';
import { UpstreamError } from './upstream/upstream-failures.ts';
import type { Target } from './model-targets.ts';

/**
 * Passes a request to its targets in turn, until one answers. A target that fails after anything but a stage is the last.
 * @param ask `hasNext`: whether another target may answer instead
 * @throws the error of the last target that is asked; a server's error takes precedence over the device's
 */
export async function* withFailover<Event extends { type: string }>(
  targets: Promise<readonly Target[]>,
  signal: AbortSignal,
  ask: (target: Target, hasNext: boolean) => AsyncIterable<Event>,
): AsyncGenerator<Event, void, undefined> {
  const { asked, known } = inOrder(await targets);
  let failure = known;
  for (const [at, target] of asked.entries()) {
    const hasNext = at + 1 < asked.length;
    let sent = false;
    let failed = false;
    try {
      for await (const event of ask(target, hasNext)) {
        sent ||= event.type !== 'stage';
        yield event;
      }
      return;
    } catch (error) {
      failed = true;
      noteFailure(target, error, hasNext);
      if (sent || signal.aborted || isForClient(error)) throw error;
      if (target.server || failure === undefined) failure = error;
    } finally {
      // Also runs when the reader stops iterating, which it does at the last event.
      if (sent && !failed && !signal.aborted) target.server?.circuit.succeed();
    }
  }
  throw failure;
}

/** Failed servers are asked last, and only once their pause is over. `known`: error of the first of them. */
function inOrder(targets: readonly Target[]): { asked: readonly Target[]; known?: unknown } {
  if (targets.length === 1) return { asked: targets };
  for (const { server } of targets) server?.probeWhenDue();
  const failing = targets.filter(({ server }) => server && !server.circuit.isClosed);
  const sound = targets.filter((target) => !failing.includes(target));
  const due = failing.filter(({ server }) => !server?.circuit.isOpen);
  return { asked: [...sound, ...due], known: failing[0]?.server?.circuit.error };
}

function noteFailure({ server }: Target, error: unknown, hasNext: boolean): void {
  if (hasNext && error instanceof UpstreamError && error.wire.passOn) server?.skipForAWhile(error);
}

function isForClient(error: unknown): boolean {
  const { status, passOn } = asServiceError(error).wire;
  return passOn === undefined ? status < 500 : !passOn;
}
