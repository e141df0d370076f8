import type { Page, Worker } from 'playwright';

/** Something that the engine's worker sent, and when, in milliseconds since 1970. */
export interface Sent {
  /** `connected`, `done` and so on, as in src/protocol/engine-port.ts; `engine`: to llama.cpp; `closed`: an abort is through. */
  what: string;
  at: number;
  /** Time of the embedding engine, in its `done`. */
  computeMs?: number;
}

/**
 * Listens at the engine's worker: its messages tell when a request reached it, and how long the model took, which no
 * client can see. Costs a call a message.
 */
export class EngineTap {
  readonly #worker: Worker;
  readonly #kept: Sent[] = [];

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async install(page: Page): Promise<EngineTap> {
    const worker = page.workers().find((each) => /\/worker-[^/]+\.js$/.test(each.url()));
    if (!worker) throw new Error('this page has no engine');
    await worker.evaluate(listen);
    return new EngineTap(worker);
  }

  /** What was sent since the last call. */
  async take(): Promise<Sent[]> {
    await this.#pull();
    return this.#kept.splice(0);
  }

  /** Waits for the first of these at or after a time; what was sent before it is forgotten. */
  async until(what: string[], after = 0, timeoutMs = 60_000): Promise<Sent> {
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline) {
      await this.#pull();
      const index = this.#kept.findIndex((sent) => what.includes(sent.what) && sent.at >= after);
      const found = this.#kept.splice(0, index + 1).at(-1);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`the engine sent no ${what.join(' or ')} in ${timeoutMs / 1000} s`);
  }

  async #pull(): Promise<void> {
    const sent = await this.#worker.evaluate(() =>
      (globalThis as unknown as { tapped: Sent[] }).tapped.splice(0),
    );
    this.#kept.push(...sent);
  }
}

/** Both ways of calling `postMessage`. */
type Posted = [message: unknown, options: Transferable[] & StructuredSerializeOptions];

/** Runs in the worker. */
function listen(): void {
  const scope = globalThis as unknown as { tapped?: Sent[] };
  if (scope.tapped) return;
  const tapped: Sent[] = (scope.tapped = []);
  const note = (what: string, more: Partial<Sent> = {}): void =>
    void tapped.push({ what, at: performance.timeOrigin + performance.now(), ...more });
  interface Message {
    type?: string;
    event?: { type: string; timings?: { computeMs?: number } };
  }
  const { postMessage, close } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: Posted) {
    const message = args[0] as Message | null;
    const computeMs = message?.event?.timings?.computeMs;
    if (message?.event) note(message.event.type, computeMs === undefined ? {} : { computeMs });
    else if (typeof message?.type === 'string') note(message.type);
    postMessage.apply(this, args);
  };
  MessagePort.prototype.close = function (this: MessagePort) {
    note('closed');
    close.call(this);
  };
  // Playwright's class of this name is another.
  const nested = (globalThis as unknown as { Worker: { prototype: MessagePort } }).Worker.prototype;
  const { postMessage: ask } = nested;
  nested.postMessage = function (this: MessagePort, ...args: Posted) {
    note('engine');
    ask.apply(this, args);
  };
}
