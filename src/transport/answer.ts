import type { ErrorCode } from '../errors/error-codes.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { Kind } from '../jobs/kinds.ts';
import { type AskerMessage, CREDIT_WINDOW, type EngineMessage } from '../protocol/engine-port.ts';
import { Channel } from '../util/async.ts';
import type { FoundEngine } from './find-engine.ts';
import { type EngineEnd, watchEngine } from './watch-engine.ts';

/** Credit goes back in halves of the window: fewer messages, and the engine never waits for one. */
const CREDIT_STEP = CREDIT_WINDOW / 2;

/** Failures of the engine itself: its worker reloads the model, or another variant of it, when it is asked again. */
const ENGINE_DEATHS = new Set<ErrorCode | null>(['engine_crashed', 'device_lost']);

/** Messages of an engine's port, for one reader. */
export class Answer<K extends Kind> {
  /** Set when nothing follows what was read last. */
  isWhole = false;
  /** How the engine ended before that. */
  end: EngineEnd | null = null;
  readonly #engine: FoundEngine;
  readonly #signal: AbortSignal;
  readonly #stopWatching: () => void;
  readonly #messages = new Channel<EngineMessage<K> | EngineEnd>();
  #pendingCredit = 0;

  constructor(engine: FoundEngine, locks: LockManager, signal: AbortSignal) {
    this.#engine = engine;
    this.#signal = signal;
    this.#stopWatching = watchEngine(locks, engine.epoch, (end) => this.#messages.push(end));
    engine.port.onmessage = ({ data }: MessageEvent<EngineMessage<K>>) => this.#messages.push(data);
    signal.addEventListener('abort', this.#onAbort);
  }

  /** The next message; null when the engine has ended. @throws ServiceError that it sent; the signal's reason when aborted */
  async read(): Promise<EngineMessage<K> | null> {
    this.#signal.throwIfAborted();
    const message = await this.#messages.take();
    this.#signal.throwIfAborted();
    return this.#take(message ?? { type: 'died', cause: null });
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stopWatching();
    if (this.isWhole) this.#engine.port.close();
    else this.#engine.dismiss();
  }

  #take(message: EngineMessage<K> | EngineEnd): EngineMessage<K> | null {
    if (message.type === 'died' || message.type === 'leaderExited' || message.type === 'paused') {
      this.end = message;
      return null;
    }
    if (message.type === 'error') {
      this.isWhole = true;
      if (!ENGINE_DEATHS.has(message.error.code)) throw new ServiceError(message.error);
      this.end = { type: 'died', cause: message.error };
      return null;
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

  /** Aborts at once, whether or not anybody reads. */
  readonly #onAbort = (): void => {
    this.#engine.dismiss();
    this.#messages.fail(this.#signal.reason);
  };
}
