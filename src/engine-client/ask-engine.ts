import type { AskerMessage, EngineMessage } from '../protocol/engine-port.ts';
import { requestLock } from '../protocol/locks.ts';
import { engineFailed } from './engine-errors.ts';
import type { EngineTransport } from './engine-transport.ts';
import { exchangeWith } from './exchange-with.ts';
import { findEngine } from './find-engine.ts';
import { holdLock } from './web-locks.ts';

export interface EngineClientDependencies {
  transport: EngineTransport;
  locks: LockManager;
  /** How long to look for an engine before giving up, in milliseconds. */
  deadlineMs?: number;
}

/** A question that outlives the engine it was put to. */
export interface Exchange {
  /** What to ask the next engine; null when what has come is already the whole answer. */
  question(): AskerMessage | null;
  /** True when the answer is whole. */
  receive(message: EngineMessage, port: MessagePort): boolean;
  /** Parts of the answer so far. */
  received(): number;
  /** The engine is gone, and the next one will be asked. */
  onLost?(): void;
}

const DEADLINE_MS = 60_000;

/** A question on which this many engines died in a row without a word may well be what kills them. */
const MOST_SILENT_DEATHS = 3;

/**
 * Asks until the answer is whole, of one engine after another where they die. Holds the request's lock meanwhile.
 * @throws ServiceError
 */
export async function askEngine(
  dependencies: EngineClientDependencies,
  request: { id: string; signal: AbortSignal },
  exchange: Exchange,
): Promise<void> {
  const { transport, locks, deadlineMs = DEADLINE_MS } = dependencies;
  const { id, signal } = request;
  const holding = holdLock(locks, requestLock(id), signal);
  try {
    let silentDeaths = 0;
    for (;;) {
      const engine = await findEngine(transport, { signal, deadlineMs });
      await holding;
      const question = exchange.question();
      if (!question) return;
      const before = exchange.received();
      const receive = (message: EngineMessage): boolean => exchange.receive(message, engine.port);
      if ((await exchangeWith(engine, question, receive, { locks, signal })) === 'answered') return;
      silentDeaths = exchange.received() > before ? 0 : silentDeaths + 1;
      if (silentDeaths >= MOST_SILENT_DEATHS) throw engineFailed(silentDeaths);
      exchange.onLost?.();
    }
  } finally {
    holding.then(
      (release) => release(),
      () => {},
    );
  }
}
