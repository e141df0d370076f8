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

  /** Does nothing once the body is closed. */
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
