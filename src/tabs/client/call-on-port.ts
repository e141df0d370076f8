import type { AskerMessage, EngineMessage } from '../../protocol/engine-port.ts';
import type { ErrorCode } from '../../protocol/error-codes.ts';
import type { WireError } from '../../protocol/wire-error.ts';
import { ServiceError } from '../../service/service-error.ts';
import { watchDeparture } from './departures.ts';
import type { FoundEngine } from './find-engine.ts';
import { watchEngine } from './web-locks.ts';

/** Messages that a worker sent just before it died may arrive after its lock is released. */
const LAST_WORDS_MS = 50;

/** Failures of the engine itself: its worker reloads the model, or another variant of it, when it is asked again. */
const DEADLY = new Set<ErrorCode | null>(['engine_crashed', 'device_lost']);

export type Outcome =
  | { type: 'answered' }
  /** The tab was closed or reloaded: no fault of the question. */
  | { type: 'left' }
  /** `cause`: what the engine could still say of it. */
  | { type: 'died'; cause: WireError | null };

/**
 * One question on one engine's port, `answered` once `receive` says that the answer is whole.
 * @throws ServiceError when the engine says so, and what `receive` throws; the signal's reason when aborted. The
 *   engine is then told to stop.
 */
export function callOnPort(
  engine: FoundEngine,
  question: AskerMessage,
  receive: (message: EngineMessage) => boolean,
  options: { locks: LockManager; signal: AbortSignal },
): Promise<Outcome> {
  const { port, epoch } = engine;
  const { locks, signal } = options;
  return new Promise((resolve, reject) => {
    let lastWords: ReturnType<typeof setTimeout> | undefined;
    const settle = (finish: () => void): void => {
      clearTimeout(lastWords);
      port.onmessage = null;
      port.close();
      stopWatch();
      stopListening();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const giveUp = (reason: unknown): void => {
      port.postMessage({ type: 'cancel' } satisfies AskerMessage);
      settle(() => reject(reason));
    };
    const onAbort = (): void => giveUp(signal.reason);
    // A worker with busy threads takes the browser seconds to end: its page's word comes first.
    const stopListening = watchDeparture(epoch, () => settle(() => resolve({ type: 'left' })));
    const stopWatch = watchEngine(locks, epoch, () => {
      lastWords = setTimeout(() => settle(() => resolve({ type: 'died', cause: null })), LAST_WORDS_MS);
    });
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    port.onmessage = ({ data }: MessageEvent<EngineMessage>) => {
      if (data.type === 'error') {
        const { error } = data;
        if (DEADLY.has(error.code)) settle(() => resolve({ type: 'died', cause: error }));
        else settle(() => reject(new ServiceError(error)));
        return;
      }
      try {
        if (receive(data)) settle(() => resolve({ type: 'answered' }));
      } catch (error) {
        giveUp(error);
      }
    };
    port.postMessage(question);
  });
}
