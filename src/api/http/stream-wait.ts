import { createDeferred } from '../../util/deferred.ts';
import type { WaitingStage } from '../../protocol/engine-port.ts';

/**
 * How long the headers of a stream wait in each stage, in milliseconds: until they are sent a failure is a status,
 * and an abort is invisible. Looking for an engine counts as loading, and fails after 60 s.
 */
const STAGE_DEADLINE_MS: Record<Exclude<WaitingStage, 'prefill'>, number> = {
  loading: 75_000,
  queued: 2000,
  checking: 60_000,
};

/**
 * What a stream does while nothing has been generated: it holds its headers until they are due, then sends comments.
 * It waits again when an engine dies in the middle of a reply.
 */
export class StreamWait {
  stage: WaitingStage = 'loading';
  readonly #comment: (stage: WaitingStage) => void;
  readonly #heartbeatMs: number;
  #state: 'holding headers' | 'waiting' | 'generating' = 'holding headers';
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #headersDue = createDeferred();

  constructor(comment: (stage: WaitingStage) => void, heartbeatMs: number) {
    this.#comment = comment;
    this.#heartbeatMs = heartbeatMs;
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS.loading);
  }

  get headersDue(): Promise<void> {
    return this.#headersDue.promise;
  }

  enter(stage: WaitingStage): void {
    const isNew = stage !== this.stage;
    this.stage = stage;
    if (this.#state === 'generating') this.#wait({ commentNow: true });
    if (this.#state !== 'holding headers' || !isNew || stage === 'prefill') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS[stage]);
  }

  /** The answer is known not to fail before its first token. */
  releaseHeaders(): void {
    this.#headersDue.resolve();
  }

  headersSent(options: { commentNow: boolean }): void {
    if (this.#state === 'holding headers') this.#wait(options);
  }

  generating(): void {
    if (this.#state === 'generating') return;
    this.#state = 'generating';
    clearTimeout(this.#timer);
    this.#headersDue.resolve();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #wait({ commentNow }: { commentNow: boolean }): void {
    this.#state = 'waiting';
    clearTimeout(this.#timer);
    const comment = () => this.#comment(this.stage);
    this.#timer = setInterval(comment, this.#heartbeatMs);
    if (commentNow) comment();
  }
}
