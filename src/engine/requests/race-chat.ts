import type { ChatEvent } from '../../protocol/job.ts';
import type { WaitingStage } from '../../protocol/engine-port.ts';

type Events = AsyncGenerator<ChatEvent, void, undefined>;
/** Why nothing has come yet; with `prefill`, the fingerprint of the variant that computes. */
export type OnStage = (stage: WaitingStage, servedBy?: string) => void;
export type Racer = (signal: AbortSignal, onStage: OnStage) => Events;

/** Up to the first token: what came until then, and the rest. */
interface Opening {
  abort: AbortController;
  come: ChatEvent[];
  rest: Events;
}

/**
 * Puts one chat to several variants at once. The one that gives the first token goes on, and the others are aborted.
 * @throws what the last of them failed with, when all fail
 */
export async function* raceChats(racers: Racer[], signal: AbortSignal, onStage: OnStage): Events {
  const aborts = racers.map(() => new AbortController());
  const openings = racers.map((racer, at) =>
    open(racer, aborts[at] ?? new AbortController(), signal, onStage),
  );
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

async function open(
  racer: Racer,
  abort: AbortController,
  signal: AbortSignal,
  onStage: OnStage,
): Promise<Opening> {
  // Who computes is told by the first token: before it, there are several.
  const rest = racer(AbortSignal.any([signal, abort.signal]), (stage) => {
    if (stage !== 'prefill') onStage(stage);
  });
  const come: ChatEvent[] = [];
  for (;;) {
    const { value, done } = await rest.next();
    if (value) come.push(value);
    if (done || value?.type !== 'accepted') return { abort, come, rest };
  }
}
