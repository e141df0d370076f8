import { asServiceError } from '#base';
import { UpstreamError } from './upstream/upstream-failures.ts';
import type { Target } from './model-targets.ts';

/** The targets of one request, in the order in which they are asked. */
export class Failover {
  /** Thrown when every target fails. A server's error takes precedence over the device's. */
  error: unknown;
  readonly #remaining: Target[];

  constructor(targets: Target[]) {
    const isAlone = targets.length === 1;
    if (!isAlone) for (const { server } of targets) server?.probeWhenDue();
    const failing = targets.filter(({ server }) => server && !server.circuit.isClosed);
    if (!isAlone) this.error = failing[0]?.server?.circuit.error;
    // Failed servers are asked last, and only once their pause is over.
    const asked = failing.filter(({ server }) => isAlone || !server?.circuit.isOpen);
    this.#remaining = [...targets.filter((target) => !failing.includes(target)), ...asked];
  }

  next(): Target | undefined {
    return this.#remaining.shift();
  }

  /** Whether another target may answer instead of the last one that `next` returned. */
  get hasNext(): boolean {
    return this.#remaining.length > 0;
  }

  /** @throws the error of `ask` if no other target may answer; `error` once all targets have failed */
  async first<T>(signal: AbortSignal, ask: (target: Target, hasNext: boolean) => Promise<T>): Promise<T> {
    for (let target = this.next(); target; target = this.next()) {
      try {
        return await ask(target, this.hasNext);
      } catch (error) {
        this.failed(target, error, signal.aborted);
      }
    }
    throw this.error;
  }

  /** @throws the error, if no other target may answer instead */
  failed({ server }: Target, error: unknown, isFinal: boolean): void {
    const { status, passOn } = asServiceError(error).wire;
    const isForClient = passOn === undefined ? status < 500 : !passOn;
    if (server && this.hasNext && error instanceof UpstreamError && passOn) server.skipForAWhile(error);
    if (isFinal || isForClient) throw error;
    if (server || this.error === undefined) this.error = error;
  }
}
