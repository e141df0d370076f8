import {
  CREDIT_WINDOW,
  type AskerMessage,
  type EngineMessage,
  type Question,
} from '../protocol/engine-port.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { holdLock, requestLock } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { ServiceError } from '../api/service-error.ts';
import { engineFailed } from './engine-errors.ts';
import { findEngine, type EngineTransport, type FoundEngine } from './find-engine.ts';
import { watchEngine, type EngineEnd } from './watch-engine.ts';

export interface EngineClientDependencies {
  /** Of the app whose engine is called. */
  scope: string;
  transport: EngineTransport;
  locks: LockManager;
  /** How long to look for an engine before giving up, in milliseconds. */
  deadlineMs?: number;
}

export interface EngineCall {
  /** Unique: the request's lock has it in its name. */
  id: string;
  signal: AbortSignal;
  /** What to ask the next engine; null when nothing is left to ask. */
  nextQuestion(): Question | null;
  /** Parts of the answer so far, where an engine that dies may be due to the question itself. */
  received?(): number;
}

const DEADLINE_MS = 60_000;

/** A question on which this many engines died in a row without an answer may be the cause of it. */
const MAX_SILENT_DEATHS = 3;

/** Credit goes back in halves of the window: fewer messages, and the engine never waits for one. */
const CREDIT_STEP = CREDIT_WINDOW / 2;

/** Failures of the engine itself: its worker reloads the model, or another variant of it, when it is asked again. */
const ENGINE_DEATHS = new Set<ErrorCode | null>(['engine_crashed', 'device_lost']);

/**
 * The engine's messages until the answer is whole; from the next engine where one dies or its tab leaves. Holds the
 * request's lock meanwhile. Aborting the signal, or returning the iterator, tells the engine to stop.
 * @throws ServiceError; the signal's reason when aborted
 */
export async function* callEngine(
  { scope, transport, locks, deadlineMs = DEADLINE_MS }: EngineClientDependencies,
  { id, signal, nextQuestion, received = () => 0 }: EngineCall,
): AsyncGenerator<EngineMessage, void, undefined> {
  const holding = holdLock(locks, requestLock(scope, id), signal);
  try {
    let silentDeaths = 0;
    for (;;) {
      const engine = await findEngine(transport, { signal, deadlineMs });
      await holding;
      const question = nextQuestion();
      if (!question) return engine.dismiss();
      const before = received();
      // Before the watch, which takes a lock and a channel to set up.
      engine.port.postMessage({ ...question, version: PROTOCOL_VERSION, id } satisfies AskerMessage);
      const answer = new Answer(engine, locks, signal);
      let end: EngineEnd;
      try {
        for (;;) {
          const message = await answer.next();
          if (message.type === 'leaderExited' || message.type === 'died') {
            end = message;
            break;
          }
          yield message;
          if (answer.isWhole) return;
        }
      } finally {
        answer.close();
      }
      if (received() > before) silentDeaths = 0;
      else if (end.type === 'died') {
        silentDeaths++;
        if (silentDeaths >= MAX_SILENT_DEATHS) {
          throw end.cause ? new ServiceError(end.cause) : engineFailed(silentDeaths);
        }
      }
      yield { type: 'waiting', stage: 'loading' };
    }
  } finally {
    holding.then(
      (release) => release(),
      () => {},
    );
  }
}

/** What comes on an engine's port, for one reader. */
class Answer {
  /** Nothing follows what was read last. */
  isWhole = false;
  readonly #engine: FoundEngine;
  readonly #signal: AbortSignal;
  readonly #stopWatching: () => void;
  readonly #unread: (EngineMessage | EngineEnd)[] = [];
  #wake = (): void => {};
  #pendingCredit = 0;

  constructor(engine: FoundEngine, locks: LockManager, signal: AbortSignal) {
    this.#engine = engine;
    this.#signal = signal;
    this.#stopWatching = watchEngine(locks, engine.epoch, (end) => this.#push(end));
    engine.port.onmessage = ({ data }: MessageEvent<EngineMessage>) => this.#push(data);
    signal.addEventListener('abort', this.#onAbort);
  }

  /** @throws ServiceError that the engine sent; the signal's reason when aborted */
  async next(): Promise<EngineMessage | EngineEnd> {
    for (;;) {
      this.#signal.throwIfAborted();
      const message = this.#unread.shift();
      if (message) return this.#take(message);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stopWatching();
    if (this.isWhole) this.#engine.port.close();
    else this.#engine.dismiss();
  }

  #take(message: EngineMessage | EngineEnd): EngineMessage | EngineEnd {
    if (message.type === 'error') {
      this.isWhole = true;
      if (ENGINE_DEATHS.has(message.error.code)) return { type: 'died', cause: message.error };
      throw new ServiceError(message.error);
    }
    if (message.type === 'event') {
      if (message.event.type === 'delta') this.#giveCredit();
      this.isWhole = message.event.type === 'done';
    } else this.isWhole = message.type !== 'waiting' && message.type !== 'progress';
    return message;
  }

  #giveCredit(): void {
    this.#pendingCredit++;
    if (this.#pendingCredit < CREDIT_STEP) return;
    this.#engine.port.postMessage({ type: 'credit', count: this.#pendingCredit } satisfies AskerMessage);
    this.#pendingCredit = 0;
  }

  #push(message: EngineMessage | EngineEnd): void {
    this.#unread.push(message);
    this.#wake();
  }

  /** At once, whether or not anybody reads. */
  readonly #onAbort = (): void => {
    this.#engine.dismiss();
    this.#wake();
  };
}
