import type { AskerMessage, EngineMessage } from '../../protocol/engine-port.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import { ServiceError } from '../../service/service-error.ts';
import { engineUnavailable, protocolMismatch } from './engine-errors.ts';
import type { EngineTransport } from './engine-transport.ts';

/** An engine worker that has taken our port. */
export interface FoundEngine {
  port: MessagePort;
  epoch: string;
}

const FIRST_PAUSE_MS = 150;
const MAX_PAUSE_MS = 1000;

/**
 * Asks until a worker takes one of the ports. Earlier ports stay open meanwhile: a worker that is still starting
 * takes the oldest first.
 * @throws ServiceError `engine_unavailable` at the deadline, `protocol_mismatch`, or what the leader says is wrong.
 */
export function findEngine(
  transport: EngineTransport,
  options: { signal: AbortSignal; deadlineMs: number },
): Promise<FoundEngine> {
  const { signal, deadlineMs } = options;
  return new Promise((resolve, reject) => {
    const ports = new Set<MessagePort>();
    let settled = false;
    let pauseMs = FIRST_PAUSE_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const settle = (finish: () => void, kept?: MessagePort): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      clearTimeout(deadline);
      signal.removeEventListener('abort', onAbort);
      for (const port of ports) if (port !== kept) dismiss(port);
      finish();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const fail = (error: unknown): void => settle(() => reject(error));

    const openPort = (): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      if (settled) dismiss(port1);
      ports.add(port1);
      port1.onmessage = ({ data }: MessageEvent<EngineMessage>) => {
        if (data.type === 'error') fail(new ServiceError(data.error));
        if (data.type !== 'taken') return;
        if (data.version !== PROTOCOL_VERSION) return fail(protocolMismatch());
        settle(() => resolve({ port: port1, epoch: data.epoch }), port1);
      };
      return port2;
    };

    const ask = (): void => {
      timer = setTimeout(ask, pauseMs);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      transport.offer(openPort).catch(fail);
    };

    const deadline = setTimeout(() => fail(engineUnavailable(Math.round(deadlineMs / 1000))), deadlineMs);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    ask();
  });
}

/** A worker may have taken this one too, or take it later: it must not wait for a job that never comes. */
function dismiss(port: MessagePort): void {
  port.onmessage = null;
  port.postMessage({ type: 'cancel' } satisfies AskerMessage);
  port.close();
}
