import type { WaitingStage } from '../../protocol/engine-port.ts';

/** Chromium ends a service worker's answer that has no headers after 310 s. */
export const HEADERS_DEADLINE_MS = 290_000;

/**
 * How long the headers of a stream wait in each stage, in milliseconds: until they are sent a failure is a status,
 * and an abort is invisible. Looking for an engine counts as loading, and fails after 60 s.
 */
const STAGE_DEADLINE_MS: Record<Exclude<WaitingStage, 'prefill'>, number> = {
  loading: 75_000,
  queued: 2000,
  checking: 60_000,
};

/** Calls back when the headers of a stream must be sent although nothing is known of its answer yet. */
export class StreamDeadline {
  readonly #onReached: () => void;
  #stage: WaitingStage | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(onReached: () => void) {
    this.#onReached = onReached;
    this.enter('loading');
  }

  enter(stage: WaitingStage): void {
    if (this.#stopped || stage === this.#stage || stage === 'prefill') return;
    this.#stage = stage;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onReached, STAGE_DEADLINE_MS[stage]);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
