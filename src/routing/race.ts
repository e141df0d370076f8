import type { EngineEvent } from '../api/service-dependencies.ts';

type Events = AsyncGenerator<EngineEvent, void, undefined>;
export type Racer = (signal: AbortSignal) => Events;

/** Up to the first token: what came until then, and the rest. */
interface Opening {
  abort: AbortController;
  come: EngineEvent[];
  rest: Events;
}

/**
 * Puts one chat to several variants at once. The one that gives the first token goes on, and the others are aborted.
 * @throws what the last of them failed with, when all fail
 */
export async function* raceChats(racers: Racer[], signal: AbortSignal): Events {
  const aborts = racers.map(() => new AbortController());
  const openings = racers.map((racer, at) => open(racer, aborts[at] ?? new AbortController(), signal));
  try {
    const winner = await Promise.any(openings).catch((failures: AggregateError) => {
      throw signal.aborted ? signal.reason : failures.errors.at(-1);
    });
    for (const [at, opening] of openings.entries()) {
      if (aborts[at] === winner.abort) continue;
      aborts[at]?.abort(new DOMException('Another variant was first.', 'AbortError'));
      // One that has its first token as well waits to be asked for more.
      opening.then(({ rest }) => rest.return()).catch(() => undefined);
    }
    yield* winner.come;
    yield* winner.rest;
  } finally {
    for (const abort of aborts) abort.abort(new DOMException('The reply has ended.', 'AbortError'));
  }
}

async function open(racer: Racer, abort: AbortController, signal: AbortSignal): Promise<Opening> {
  const rest = racer(AbortSignal.any([signal, abort.signal]));
  const come: EngineEvent[] = [];
  for (;;) {
    const { value, done } = await rest.next();
    // Who computes is told by the first token: before it, there are several.
    if (value?.type === 'waiting') continue;
    if (value) come.push(value);
    if (done || value?.type !== 'accepted') return { abort, come, rest };
  }
}
