import type { AskerMessage, EngineMessage } from '../protocol/engine-port.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { ServiceError } from '../api/service-error.ts';
import { engineUnavailable, protocolMismatch } from './engine-errors.ts';

/** A way to reach the page that leads. */
export interface EngineTransport {
  /**
   * Hands its own port to every page that may lead. The leader passes it to its engine worker; other pages close it, or
   * drop it. Called again, with a growing pause, until a worker has accepted one.
   */
  offer(openPort: () => MessagePort, again: boolean): Promise<void>;
  /** A worker has accepted; ports that are posted on `link` reach it without its page. */
  linkTo?(epoch: string, link: MessagePort): void;
}

/** An engine worker that has accepted our port. */
export interface FoundEngine {
  port: MessagePort;
  epoch: string;
  /** Tells it that nothing more is asked for. */
  dismiss(): void;
}

const FIRST_PAUSE_MS = 150;
const MAX_PAUSE_MS = 1000;

/**
 * Asks until a worker accepts one of the ports. Earlier ports stay open meanwhile: a worker that is still starting
 * accepts the oldest first.
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
        if (data.type !== 'accepted') return;
        if (data.version !== PROTOCOL_VERSION) return fail(protocolMismatch());
        if (data.link && !settled) transport.linkTo?.(data.epoch, data.link);
        settle(() => resolve({ port: port1, epoch: data.epoch, dismiss: () => dismiss(port1) }), port1);
      };
      return port2;
    };

    const ask = (again: boolean): void => {
      timer = setTimeout(ask, pauseMs, true);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      transport.offer(openPort, again).catch(fail);
    };

    const deadline = setTimeout(() => fail(engineUnavailable(Math.round(deadlineMs / 1000))), deadlineMs);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    ask(false);
  });
}

/** A worker that has accepted the port, or does so later, must not wait for a question that never comes. */
function dismiss(port: MessagePort): void {
  port.onmessage = null;
  port.postMessage({ type: 'cancel' } satisfies AskerMessage);
  port.close();
}
