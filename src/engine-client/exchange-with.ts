import type { AskerMessage, EngineMessage } from '../protocol/engine-port.ts';
import { ServiceError } from '../service/service-error.ts';
import type { FoundEngine } from './find-engine.ts';
import { watchEngine } from './web-locks.ts';

/** Messages that a worker sent just before it died may arrive after its lock is released. */
const LAST_WORDS_MS = 50;

/**
 * One question on one engine's port. Resolves `answered` when `receive` says that the answer is whole, `lost` when the
 * worker died before.
 * @throws ServiceError when the engine says so; the signal's reason when aborted, after the engine was told to stop.
 */
export function exchangeWith(
  engine: FoundEngine,
  question: AskerMessage,
  receive: (message: EngineMessage) => boolean,
  options: { locks: LockManager; signal: AbortSignal },
): Promise<'answered' | 'lost'> {
  const { port, epoch } = engine;
  const { locks, signal } = options;
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      port.onmessage = null;
      port.close();
      stopWatch();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => {
      port.postMessage({ type: 'cancel' } satisfies AskerMessage);
      settle(() => reject(signal.reason));
    };
    const stopWatch = watchEngine(locks, epoch, () => {
      setTimeout(() => settle(() => resolve('lost')), LAST_WORDS_MS);
    });
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    port.onmessage = ({ data }: MessageEvent<EngineMessage>) => {
      if (data.type === 'error') settle(() => reject(new ServiceError(data.error)));
      else if (receive(data)) settle(() => resolve('answered'));
    };
    port.postMessage(question);
  });
}
