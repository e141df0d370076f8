import { afterCancel } from './after-cancel.ts';

/** Events that may lie unread before the engine waits for the reader. */
const HIGH_WATER_MARK = 64;

/** The body of a streamed answer: text in, server-sent events out, and word of a reader that has left. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #room: (() => void) | null = null;

  constructor(onCancel: () => void) {
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#goOn(),
        cancel: () => {
          this.#controller = null;
          this.#goOn();
          afterCancel(onCancel);
        },
      },
      { highWaterMark: HIGH_WATER_MARK },
    );
  }

  /** Once the reader has left, nothing is sent. A promise tells when there is room for more. */
  send(text: string): void | Promise<void> {
    const controller = this.#controller;
    if (!controller) return;
    controller.enqueue(this.#encoder.encode(text));
    if ((controller.desiredSize ?? 1) > 0) return;
    return new Promise((resolve) => {
      const earlier = this.#room;
      this.#room = () => {
        earlier?.();
        resolve();
      };
    });
  }

  /** The reader has left, or all has been said. */
  get left(): boolean {
    return this.#controller === null;
  }

  end(): void {
    this.#controller?.close();
    this.#controller = null;
    this.#goOn();
  }

  fail(reason: unknown): void {
    this.#controller?.error(reason);
    this.#controller = null;
    this.#goOn();
  }

  #goOn(): void {
    const room = this.#room;
    this.#room = null;
    room?.();
  }
}
