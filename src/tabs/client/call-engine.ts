import type { AskerMessage, EngineMessage } from '../../protocol/engine-port.ts';
import { holdLock, requestLock } from '../../protocol/locks.ts';
import { ServiceError } from '../../service/service-error.ts';
import { engineFailed } from './engine-errors.ts';
import type { EngineTransport } from './engine-transport.ts';
import { callOnPort } from './call-on-port.ts';
import { findEngine } from './find-engine.ts';

export interface EngineClientDependencies {
  /** Of the app whose engine is asked. */
  scope: string;
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
  /** The engine is gone, and will be asked again, or the next one. */
  onLost?(): void;
}

const DEADLINE_MS = 60_000;

/** A question on which this many engines died in a row without a word may well be what kills them: run again twice. */
const MAX_SILENT_DEATHS = 3;

/**
 * Asks until the answer is whole, of one engine after another where they die or leave. Holds the request's lock
 * meanwhile.
 * @throws ServiceError
 */
export async function callEngine(
  dependencies: EngineClientDependencies,
  request: { id: string; signal: AbortSignal },
  exchange: Exchange,
): Promise<void> {
  const { scope, transport, locks, deadlineMs = DEADLINE_MS } = dependencies;
  const { id, signal } = request;
  const holding = holdLock(locks, requestLock(scope, id), signal);
  try {
    let silentDeaths = 0;
    for (;;) {
      const engine = await findEngine(transport, { signal, deadlineMs });
      await holding;
      const question = exchange.question();
      if (!question) return;
      const before = exchange.received();
      const receive = (message: EngineMessage): boolean => exchange.receive(message, engine.port);
      const outcome = await callOnPort(engine, question, receive, { locks, signal });
      if (outcome.type === 'answered') return;
      if (exchange.received() > before) silentDeaths = 0;
      else if (outcome.type === 'died') silentDeaths += 1;
      if (outcome.type === 'died' && silentDeaths >= MAX_SILENT_DEATHS) {
        throw outcome.cause ? new ServiceError(outcome.cause) : engineFailed(silentDeaths);
      }
      exchange.onLost?.();
    }
  } finally {
    holding.then(
      (release) => release(),
      () => {},
    );
  }
}
