import { asServiceError } from '../api/service-error.ts';
import { UpstreamError } from './upstream/upstream-failures.ts';
import type { Leg } from './model-route.ts';

/** The legs of one request, in the order in which they are asked. */
export class Turns {
  /** To be told when none has answered. What the server said comes before what the device lacks. */
  error: unknown;
  readonly #isRace: boolean;
  readonly #left: Leg[];

  constructor(legs: Leg[], isRace = false) {
    this.#isRace = isRace;
    const isAlone = legs.length === 1 && !isRace;
    if (!isAlone) for (const { server } of legs) server?.probeWhenDue();
    const failing = legs.filter(({ server }) => server && !server.circuit.isClosed);
    if (!isAlone) this.error = failing[0]?.server?.circuit.error;
    // Servers that failed come last, and not before their pause is over.
    const asked = failing.filter(({ server }) => isAlone || !server?.circuit.isOpen);
    this.#left = [...legs.filter((leg) => !failing.includes(leg)), ...asked];
  }

  next(): Leg | undefined {
    return this.#left.shift();
  }

  /** @throws what `ask` fails with, where no other leg may answer; what was told last, when none has answered */
  async first<T>(signal: AbortSignal, ask: (leg: Leg) => Promise<T>): Promise<T> {
    for (let leg = this.next(); leg; leg = this.next()) {
      try {
        return await ask(leg);
      } catch (error) {
        this.failed(leg, error, signal.aborted);
      }
    }
    throw this.error;
  }

  /** @throws the error, where no other leg may answer in its place */
  failed({ server }: Leg, error: unknown, isFinal: boolean): void {
    const isForCaller =
      error instanceof UpstreamError ? error.isForCaller : asServiceError(error).wire.status < 500;
    const another = this.#isRace || this.#left.length > 0;
    if (server && another && error instanceof UpstreamError && !isForCaller) server.passOver(error);
    if (isFinal || isForCaller) throw error;
    if (server || this.error === undefined) this.error = error;
  }
}
