import { createDeferred } from '../../util/async.ts';
import type { WaitingStage } from '../../protocol/engine-port.ts';

/** Events that may lie unread before the engine waits for the reader. */
const HIGH_WATER_MARK = 64;

/** The body of an answer that is sent while it is made. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #encoder = new TextEncoder();
  /** Null: the reader has cancelled, or the body has ended. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #onRoom = (): void => {};

  constructor(onCancel: () => void) {
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#onRoom(),
        cancel: () => {
          this.#controller = null;
          this.#onRoom();
          // WebKit calls `cancel()` with a lock held that dispatching any event takes again, as aborting a signal does:
          // the service worker would hang.
          queueMicrotask(onCancel);
        },
      },
      { highWaterMark: HIGH_WATER_MARK },
    );
  }

  /** No effect once the body is closed. */
  send(text: string): void {
    if (text !== '') this.#controller?.enqueue(this.#encoder.encode(text));
  }

  get isFull(): boolean {
    return (this.#controller?.desiredSize ?? 1) <= 0;
  }

  /** Resolves when the reader has read, or has cancelled. For one caller at a time. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  get isClosed(): boolean {
    return this.#controller === null;
  }

  end(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  fail(reason: unknown): void {
    this.#controller?.error(reason);
    this.#controller = null;
  }
}

/**
 * A whole text as the body of a response. Of a string Chromium makes a Blob, which the page reads from the browser
 * process: that takes a millisecond more.
 */
export function streamOf(text: string): EventStream['body'] {
  const stream = new EventStream(() => undefined);
  stream.send(text);
  stream.end();
  return stream.body;
}

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
