import { serverError, ServiceError, Channel, type ErrorCode } from '#base';
import type { Kind } from '#jobs';
import {
  CREDIT_WINDOW,
  keepLock,
  leaderLock,
  queryLocks,
  requestLock,
  PROTOCOL_VERSION,
  type EngineMessage,
  type Question,
} from '#protocol';
import type { EngineConnection } from './engine-connection.ts';
import { findEngine, type FoundEngine } from './find-engine.ts';
import { type EngineEnd, watchEngine } from './watch-engine.ts';

interface EngineQuestion<T, K extends Kind> {
  /** Unique: the request's lock has it in its name. */
  id: string;
  signal: AbortSignal;
  /**
   * Question for the next engine; null when nothing is left to ask. `pauses`: how often the question gave way
   * to others.
   */
  nextQuestion(pauses: number): Question | null;
  /** End of the answer if nothing was left to ask. */
  rest?(): T | null;
  /** Converts a message for the caller; null: the message is not for the caller. */
  read(message: EngineMessage<K>): T | null;
  /** Number of parts received so far. If it does not grow, the question itself may end the engines. */
  received?(): number;
}

const DEADLINE_MS = 60_000;

/**
 * Number of engines in a row that end without a part of the answer, after which the call fails: the question
 * may be the cause.
 */
const MAX_FAILURES = 3;
/** Maximum number of workers that end without an error: each may take its tab with it. */
const MAX_SILENT_DEATHS = 2;

/** Engines that have ended in a row without a part of the answer. */
class Deaths {
  #all = 0;
  #silent = 0;

  /** @throws ServiceError when another try would be one too many */
  async count(end: EngineEnd | null, hasProgressed: boolean, locks: LockManager, leader: string) {
    if (hasProgressed) this.#all = this.#silent = 0;
    if (hasProgressed || end?.type !== 'died') return;
    this.#all++;
    if (!end.cause) this.#silent++;
    if (this.#all < MAX_FAILURES && this.#silent < MAX_SILENT_DEATHS) return;
    if (end.cause) throw new ServiceError(end.cause);
    const { held = [] } = await queryLocks(locks);
    throw engineFailed(held.some(({ name }) => name === leader) ? this.#all : 0);
  }
}

/**
 * Yields the engine's answer until it is complete; continues with the next engine if one ends or its tab
 * leaves. Holds the request's lock meanwhile. Aborting the signal, or returning the iterator, tells the
 * engine to stop.
 * @throws ServiceError; the signal's reason when aborted
 */
export async function* askEngine<T, K extends Kind = Kind>(
  { scope, transport, locks, deadlineMs = DEADLINE_MS }: EngineConnection,
  { id, signal, nextQuestion, rest, read, received = () => 0 }: EngineQuestion<T, K>,
): AsyncGenerator<T, void, undefined> {
  const holding = keepLock(locks, requestLock(scope, id), signal);
  try {
    const deaths = new Deaths();
    let pauses = 0;
    for (;;) {
      const engine = await findEngine({ scope, transport, locks, deadlineMs }, signal);
      await holding;
      const question = nextQuestion(pauses);
      if (!question) {
        engine.dismiss();
        const last = rest?.() ?? null;
        if (last !== null) yield last;
        return;
      }
      const before = received();
      // Posted before the watch starts, which must first set up a lock and a channel.
      engine.port.postMessage({ ...question, version: PROTOCOL_VERSION, id });
      const answer = receive<K>(engine, { scope, locks }, signal);
      try {
        for (let message = await answer.read(); message; message = await answer.read()) {
          const part = read(message);
          if (part !== null) yield part;
          if (answer.isWhole) return;
        }
      } finally {
        answer.close();
      }
      if (answer.end?.type === 'paused') pauses++;
      await deaths.count(answer.end, received() > before, locks, leaderLock(scope));
      const part = read({ type: 'stage', stage: 'loading' });
      if (part !== null) yield part;
    }
  } finally {
    holding.then((release) => release()).catch(() => {});
  }
}

/** @param times 0 if no tab holds its locks: the browser has cleared them, together with the site's data */
export function engineFailed(times: number): ServiceError {
  const message = times
    ? `The engine stopped ${times} times on this request before it answered. The device may be out of memory: close other tabs, or choose a smaller model.`
    : "The site's data was cleared while its tabs were open. Reload the tabs.";
  return serverError('engine_failed', message);
}

/** Deltas per credit message. Half the window means few messages, and the engine never waits for credit. */
const CREDIT_STEP = CREDIT_WINDOW / 2;

/**
 * Failures of the engine itself: its worker reloads the model, or another variant of it, when it is asked
 * again.
 */
const ENGINE_DEATHS = new Set<ErrorCode | null>(['engine_crashed', 'device_lost']);

/** Messages of an engine's port, for one reader. */
function receive<K extends Kind>(
  engine: FoundEngine,
  { scope, locks }: Pick<EngineConnection, 'scope' | 'locks'>,
  signal: AbortSignal,
) {
  const messages = new Channel<EngineMessage<K> | EngineEnd>();
  const stopWatching = watchEngine(scope, locks, engine.epoch, (end) => messages.push(end));
  /** Aborts at once, even if no reader waits. */
  const onAbort = (): void => {
    engine.dismiss();
    messages.fail(signal.reason);
  };
  let pendingCredit = 0;
  const giveCredit = (): void => {
    pendingCredit++;
    if (pendingCredit < CREDIT_STEP) return;
    engine.port.postMessage({ type: 'credit', count: pendingCredit });
    pendingCredit = 0;
  };
  engine.port.onmessage = ({ data }: MessageEvent<EngineMessage<K>>) => messages.push(data);
  signal.addEventListener('abort', onAbort);

  const answer = {
    /** Whether the last message has been read. */
    isWhole: false,
    /** How the engine ended before its last message; null: it has not. */
    end: null as EngineEnd | null,
    /**
     * The next message; null when the engine has ended.
     * @throws ServiceError that it sent; the signal's reason when aborted
     */
    async read(): Promise<EngineMessage<K> | null> {
      signal.throwIfAborted();
      const message = (await messages.take()) ?? { type: 'died', cause: null };
      signal.throwIfAborted();
      if (message.type === 'died' || message.type === 'leaderExited' || message.type === 'paused') {
        answer.end = message;
        return null;
      }
      if (message.type === 'error') {
        answer.isWhole = true;
        if (!ENGINE_DEATHS.has(message.error.code)) throw new ServiceError(message.error);
        answer.end = { type: 'died', cause: message.error };
        return null;
      }
      if (message.type === 'event') {
        if (message.event.type === 'delta') giveCredit();
        answer.isWhole = message.event.type === 'done';
      } else answer.isWhole = message.type !== 'stage' && message.type !== 'progress';
      return message;
    },
    close(): void {
      signal.removeEventListener('abort', onAbort);
      stopWatching();
      if (answer.isWhole) engine.port.close();
      else engine.dismiss();
    },
  };
  return answer;
}
