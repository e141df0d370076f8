import type { EngineTransport, Ways } from '../../../src/link/engine-connection.ts';
import type { RequesterMessage, EngineMessage, EnginePort } from '../../../src/protocol/engine-port.ts';
import type { ChatEvent } from '../../../src/jobs/chat.ts';
import { LEADER_EXIT_CHANNEL, listenDirectly } from '../../../src/protocol/discovery.ts';
import type { ErrorCode } from '../../../src/base/errors/error-codes.ts';
import { engineLock } from '../../../src/protocol/locks.ts';
import { PROTOCOL_VERSION } from '../../../src/protocol/version.ts';
import type { FakeLocks } from '../../support/fake-locks.ts';

export type Question = Extract<RequesterMessage, { id: string }>;

/** One side of a request's port, as the engine sees it. */
export interface FakePort {
  question: Question;
  heard: RequesterMessage[];
  send(message: EngineMessage): void;
}

/** A tab that leads, with a worker that does what the test says; `die` takes both away without a word. */
export class FakeLeader implements EngineTransport {
  readonly epoch = crypto.randomUUID();
  version = PROTOCOL_VERSION;
  /** Ports that came through the page, and by the link. */
  offers = 0;
  linked = 0;
  /** Imitates a worker that computes: it takes no port from its link. */
  busy = false;
  /** Imitates a page that passes no ports on. */
  isDirect = false;
  readonly #onQuestion: (port: FakePort) => void;
  #ports: Pick<EnginePort, 'close'>[] = [];
  #die: () => void = () => {};

  constructor(locks: FakeLocks, onQuestion: (port: FakePort) => void) {
    this.#onQuestion = onQuestion;
    const held = new Promise<void>((resolve) => (this.#die = resolve));
    void locks.manager.request(engineLock(this.epoch), () => held);
  }

  async offer(ways: Ways): Promise<void> {
    this.offers++;
    if (this.isDirect) {
      this.#ports.push(listenDirectly('/', (port) => this.#accept(port)));
      return ways.openDirect();
    }
    const { port1, port2 } = new MessageChannel();
    this.#ports.push(port1);
    port1.onmessage = ({ ports: [next] }: MessageEvent) => {
      if (!next || this.busy) return;
      this.linked++;
      this.#accept(next);
    };
    this.#accept(ways.openPort(), port2);
  }

  #accept(port: EnginePort, link?: MessagePort): void {
    this.#ports.push(port);
    const heard: RequesterMessage[] = [];
    const send = (message: EngineMessage): void => port.postMessage(message);
    port.onmessage = ({ data }: MessageEvent<RequesterMessage>) => {
      heard.push(data);
      if (data.type === 'credit' || data.type === 'cancel') return;
      this.#onQuestion({ question: data, heard, send });
    };
    const message: EngineMessage = { type: 'connected', version: this.version, epoch: this.epoch };
    port.postMessage({ ...message, ...(link && { link }) }, link && [link]);
  }

  /** Leaves as a tab does that is closed, and says so. */
  leave(): void {
    const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
    channel.postMessage({ epoch: this.epoch });
    channel.close();
  }

  die(): void {
    for (const port of this.#ports) port.close();
    this.#die();
  }
}

/** What a test's transport points at; it may change while a request runs. */
export class FakeSite implements EngineTransport {
  leader: EngineTransport | null = null;
  offer(...offer: Parameters<EngineTransport['offer']>): Promise<void> {
    return this.leader?.offer(...offer) ?? Promise.resolve();
  }
}

export const accepted = (promptTokens = 5): EngineMessage => ({
  type: 'event',
  event: { type: 'accepted', accepted: { promptTokens, fingerprint: 'fake' } },
});

export const delta = (text: string, tokens = 1): EngineMessage => ({
  type: 'event',
  event: { type: 'delta', delta: { text, tokens } },
});

export const thought = (text: string): EngineMessage => ({
  type: 'event',
  event: { type: 'delta', delta: { text, tokens: 1, isReasoning: true } },
});

export const done = (completionTokens: number, promptTokens = 5): EngineMessage => ({
  type: 'event',
  event: {
    type: 'done',
    finishReason: 'stop',
    usage: { promptTokens, cachedTokens: 0, completionTokens },
    timings: { queueMs: 0, prefillMs: 0, decodeMs: 0 },
  },
});

export const textOf = (events: ChatEvent[]): string =>
  events.map((event) => (event.type === 'delta' ? event.delta.text : '')).join('');

export const failure = (code: ErrorCode): EngineMessage => ({
  type: 'error',
  error: { status: 500, type: 'server_error', code, param: null, message: `It says ${code}.` },
});
