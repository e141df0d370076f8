import type { EngineClient, EngineRequest, Waiting } from '../api/service-dependencies.ts';
import { protocolMismatch, serverError, ServiceError } from '../errors/service-error.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import type { WireError } from '../errors/wire-error.ts';
import {
  callChannel,
  type CallEngine,
  LEADER_EXIT_CHANNEL,
  type LeaderExit,
  type ServePort,
} from '../protocol/discovery.ts';
import {
  CREDIT_WINDOW,
  type AskerMessage,
  type EngineMessage,
  type Question,
} from '../protocol/engine-port.ts';
import type { EventOf, JobOf, Kind } from '../jobs/kinds.ts';
import { engineLock, keepLock, leaderLock, requestLock, whenReleased } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { CommandOf, WeightsCommand } from '../protocol/weights-command.ts';
import type { WeightsReplies } from '../protocol/weights-messages.ts';
import type { EngineStatus, LoadProgress } from '../protocol/worker-control.ts';
import { backoff, Channel } from '../util/async.ts';
import { trackProgress } from './job-progress.ts';

export interface EngineConnection {
  /** Scope of the app whose engine is called. */
  scope: string;
  transport: EngineTransport;
  locks: LockManager;
  /** How long to look for an engine before giving up, in milliseconds. */
  deadlineMs?: number;
}

/** A way to reach the page that leads. */
export interface EngineTransport {
  /** Takes one of the ways to the engine worker. Called again, with a growing pause, until a worker has accepted. */
  offer(ways: Ways, again: boolean): Promise<void>;
  /** A worker has accepted; ports that are posted on `link` reach it without its page. */
  linkTo?(epoch: string, link: MessagePort): void;
}

/** Ways to the engine worker; each opens another port. */
export interface Ways {
  /** A port for a page that may lead. The leader passes it to its engine worker; other pages close it, or drop it. */
  openPort(): MessagePort;
  /** Calls the worker past its page, which may not pass ports on. Nothing can be transferred on that way. */
  callWorker(): void;
}

// What callers use: the engine as the service sees it, and single questions.

/** Calls the one engine of all tabs, and the next one when it dies. */
export function createEngineClient(connection: EngineConnection): EngineClient {
  return { run: (job, request) => run(connection, job, request) };
}

function run<K extends Kind>(
  connection: EngineConnection,
  job: JobOf<K>,
  { id, signal, origin }: EngineRequest,
): AsyncGenerator<Waiting | EventOf<K>, void, undefined> {
  const progress = trackProgress(job.kind, job);
  let sender = origin;
  return callEngine<Waiting | EventOf<K>, K>(connection, {
    id,
    signal,
    nextQuestion: (pauses) => {
      const next = progress.nextJob();
      const question: Question | null = next && {
        type: 'job',
        job: next,
        pauses,
        ...(sender && { origin: sender }),
      };
      if (sender) {
        // Attempts that an engine leaves ask the next one together: the time between them says nothing.
        const { attempt: _, ...again } = sender;
        sender = again;
      }
      return question;
    },
    rest: () => progress.lastEvent?.() ?? null,
    received: () => progress.deltas,
    read: (message) => {
      if (message.type === 'waiting') return message;
      return message.type === 'event' ? progress.note(message.event) : null;
    },
  });
}

type OnProgress = (progress: LoadProgress) => void;

/**
 * Loads a model into the engine, wherever it is; continues with the next leader when that one dies.
 * `variants`: those that may be loaded; none: all of them.
 * @throws ServiceError; the signal's reason when aborted (the load stops unless somebody else waits for it).
 */
export async function loadModel(
  connection: EngineConnection,
  model: string,
  { signal, onProgress, variants }: { signal: AbortSignal; onProgress?: OnProgress; variants?: string[] },
): Promise<void> {
  const question = { type: 'load', model, ...(variants && { variants }) } as const;
  await ask(connection, question, 'loaded', { signal, onMessage: progressTo(onProgress) });
}

/** The status of the engine's worker. @throws ServiceError */
export async function readStatus(connection: EngineConnection, signal: AbortSignal): Promise<EngineStatus> {
  return (await ask(connection, { type: 'status' }, 'status', { signal })).status;
}

/** Runs a command on the stored weights. @throws ServiceError; the signal's reason when aborted */
export async function commandWeights<T extends WeightsCommand['type']>(
  connection: EngineConnection,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress?: OnProgress,
): Promise<WeightsReplies[T]> {
  const options = { signal, onMessage: progressTo(onProgress) };
  const { reply } = await ask(connection, { type: 'weights', command }, 'weights', options);
  // A port's messages have no type that follows the question's.
  return reply as WeightsReplies[T];
}

const progressTo =
  (onProgress: OnProgress | undefined) =>
  (message: EngineMessage): void => {
    if (message.type === 'progress') onProgress?.(message.progress);
  };

/** A question with one answer. */
async function ask<Type extends 'loaded' | 'status' | 'weights'>(
  connection: EngineConnection,
  question: Question,
  answer: Type,
  { signal, onMessage }: { signal: AbortSignal; onMessage?: (message: EngineMessage) => void },
): Promise<Extract<EngineMessage, { type: Type }>> {
  const id = `${question.type}-${crypto.randomUUID()}`;
  const read = (message: EngineMessage): EngineMessage => message;
  for await (const message of callEngine(connection, { id, signal, read, nextQuestion: () => question })) {
    onMessage?.(message);
    if (message.type === answer) return message as Extract<EngineMessage, { type: Type }>;
  }
  throw engineFailed(1);
}

// One call: find an engine, ask, read its answer, and resume it on the next engine where this one dies.

interface EngineCall<T, K extends Kind> {
  /** Unique: the request's lock has it in its name. */
  id: string;
  signal: AbortSignal;
  /**
   * Question for the next engine; null when nothing is left to ask. `pauses`: how often the question gave way to
   * others.
   */
  nextQuestion(pauses: number): Question | null;
  /** End of the answer where nothing was left to ask. */
  rest?(): T | null;
  /** Meaning of a message for the caller; null: none. */
  read(message: EngineMessage<K>): T | null;
  /** Parts of the answer so far, where an engine that dies may be due to the question itself. */
  received?(): number;
}

const DEADLINE_MS = 60_000;

/** A question on which this many engines failed in a row without an answer may be the cause of it. */
const MAX_FAILURES = 3;
/** Maximum number of workers that end without an error: each may take its tab with it. */
const MAX_SILENT_DEATHS = 2;

/** Engines that have ended in a row without a part of the answer. */
class Deaths {
  #all = 0;
  #silent = 0;

  /** @throws ServiceError when another try would be one too many */
  count(end: EngineEnd | null, hasProgressed: boolean): void {
    if (hasProgressed) this.#all = this.#silent = 0;
    if (hasProgressed || end?.type !== 'died') return;
    this.#all++;
    if (!end.cause) this.#silent++;
    if (this.#all < MAX_FAILURES && this.#silent < MAX_SILENT_DEATHS) return;
    throw end.cause ? new ServiceError(end.cause) : engineFailed(this.#all);
  }
}

/**
 * What the engine answers, until it is whole; from the next engine where one dies or its tab leaves. Holds the request's
 * lock meanwhile. Aborting the signal, or returning the iterator, tells the engine to stop.
 * @throws ServiceError; the signal's reason when aborted
 */
async function* callEngine<T, K extends Kind = Kind>(
  { scope, transport, locks, deadlineMs = DEADLINE_MS }: EngineConnection,
  { id, signal, nextQuestion, rest, read, received = () => 0 }: EngineCall<T, K>,
): AsyncGenerator<T, void, undefined> {
  const holding = keepLock(locks, requestLock(scope, id), signal);
  try {
    const deaths = new Deaths();
    let pauses = 0;
    for (;;) {
      const engine = await findEngine({ scope, transport, locks, deadlineMs }, signal);
      await holding;
      const question = nextQuestion(pauses);
      if (!question) {
        engine.dismiss();
        const last = rest?.() ?? null;
        if (last !== null) yield last;
        return;
      }
      const before = received();
      // Before the watch, which takes a lock and a channel to set up.
      engine.port.postMessage({ ...question, version: PROTOCOL_VERSION, id } satisfies AskerMessage);
      const answer = new Answer<K>(engine, locks, signal);
      try {
        for (let message = await answer.read(); message; message = await answer.read()) {
          const part = read(message);
          if (part !== null) yield part;
          if (answer.isWhole) return;
        }
      } finally {
        answer.close();
      }
      if (answer.end?.type === 'paused') pauses++;
      deaths.count(answer.end, received() > before);
      const part = read({ type: 'waiting', stage: 'loading' });
      if (part !== null) yield part;
    }
  } finally {
    holding.then(
      (release) => release(),
      () => {},
    );
  }
}

// Find.

/** An engine worker that has accepted our port. */
interface FoundEngine {
  port: Port;
  epoch: string;
  /** Tells it that nothing more is asked for. */
  dismiss(): void;
}

/** A port, or a BroadcastChannel with a random name in its place, on which nothing can be transferred. */
type Port = MessagePort | BroadcastChannel;

/** Pauses between the offers of one call. */
const OFFERS = { firstMs: 150, maxMs: 1000 };

/**
 * Asks until a worker accepts one of the ports. Earlier ports stay open meanwhile: a worker that is still starting
 * accepts the oldest first.
 * @throws ServiceError `engine_unavailable` at the deadline, `protocol_mismatch`, or what the leader says is wrong.
 */
function findEngine(
  { scope, transport, locks, deadlineMs }: Required<EngineConnection>,
  signal: AbortSignal,
): Promise<FoundEngine> {
  return new Promise((resolve, reject) => {
    const ports = new Set<Port>();
    let offers = 0;
    let settled = false;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const settle = (finish: () => void, kept?: Port): void => {
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

    const listen = (port: Port): void => {
      ports.add(port);
      port.onmessage = ({ data }: MessageEvent<EngineMessage>) => {
        if (data.type === 'error') fail(new ServiceError(data.error));
        if (data.type !== 'accepted') return;
        if (data.version !== PROTOCOL_VERSION) return fail(protocolMismatch());
        if (data.link && !settled) transport.linkTo?.(data.epoch, data.link);
        settle(() => resolve({ port, epoch: data.epoch, dismiss: () => dismiss(port) }), port);
      };
    };
    const ways: Ways = {
      openPort() {
        const { port1, port2 } = new MessageChannel();
        if (settled) dismiss(port1);
        else listen(port1);
        return port2;
      },
      callWorker: () => listen(callWorker(scope)),
    };

    const offer = (again: boolean): void => {
      timer = setTimeout(offer, backoff(offers++, OFFERS), true);
      transport.offer(ways, again).catch(fail);
    };

    const deadline = setTimeout(
      () => void engineUnavailable(scope, locks, deadlineMs).then(fail, fail),
      deadlineMs,
    );
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    offer(false);
  });
}

function callWorker(scope: string): BroadcastChannel {
  const channel = `${callChannel(scope)}:${crypto.randomUUID()}`;
  const port = new BroadcastChannel(channel);
  const calls = new BroadcastChannel(callChannel(scope));
  calls.postMessage({ channel } satisfies CallEngine);
  calls.close();
  return port;
}

/** A worker that has accepted the port, or does so later, must not wait for a question that never comes. */
function dismiss(port: Port): void {
  port.onmessage = null;
  port.postMessage({ type: 'cancel' } satisfies AskerMessage);
  port.close();
}

/**
 * Keeps the link to the engine that accepted last: the next port goes straight to it, and not through the tabs. Where that
 * engine has ended, or does not accept in time, the tabs are asked as before.
 */
export function linked(transport: EngineTransport, locks: LockManager): EngineTransport {
  let link: MessagePort | null = null;
  let stopWatching = (): void => {};
  const forget = (): void => {
    stopWatching();
    link?.close();
    link = null;
  };
  return {
    ...transport,
    async offer(ways, again) {
      if (again) forget();
      if (link) link.postMessage({ type: 'localtext:serve' } satisfies ServePort, [ways.openPort()]);
      else await transport.offer(ways, again);
    },
    linkTo(epoch, port) {
      forget();
      link = port;
      stopWatching = watchEngine(locks, epoch, forget);
    },
  };
}

// Read.

/** Reason why an engine does not answer. */
type EngineEnd =
  /** Its tab was closed or reloaded, which is no fault of the question. */
  | { type: 'leaderExited' }
  /** It gives way to others. */
  | { type: 'paused' }
  /** `cause`: the error that the engine could still send. */
  | { type: 'died'; cause: WireError | null };

/** Credit goes back in halves of the window: fewer messages, and the engine never waits for one. */
const CREDIT_STEP = CREDIT_WINDOW / 2;

/** Failures of the engine itself: its worker reloads the model, or another variant of it, when it is asked again. */
const ENGINE_DEATHS = new Set<ErrorCode | null>(['engine_crashed', 'device_lost']);

/** Messages of an engine's port, for one reader. */
class Answer<K extends Kind> {
  /** Set when nothing follows what was read last. */
  isWhole = false;
  /** How the engine ended before that. */
  end: EngineEnd | null = null;
  readonly #engine: FoundEngine;
  readonly #signal: AbortSignal;
  readonly #stopWatching: () => void;
  readonly #messages = new Channel<EngineMessage<K> | EngineEnd>();
  #pendingCredit = 0;

  constructor(engine: FoundEngine, locks: LockManager, signal: AbortSignal) {
    this.#engine = engine;
    this.#signal = signal;
    this.#stopWatching = watchEngine(locks, engine.epoch, (end) => this.#messages.push(end));
    engine.port.onmessage = ({ data }: MessageEvent<EngineMessage<K>>) => this.#messages.push(data);
    signal.addEventListener('abort', this.#onAbort);
  }

  /** The next message; null when the engine has ended. @throws ServiceError that it sent; the signal's reason when aborted */
  async read(): Promise<EngineMessage<K> | null> {
    this.#signal.throwIfAborted();
    const message = await this.#messages.take();
    this.#signal.throwIfAborted();
    return this.#take(message ?? { type: 'died', cause: null });
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stopWatching();
    if (this.isWhole) this.#engine.port.close();
    else this.#engine.dismiss();
  }

  #take(message: EngineMessage<K> | EngineEnd): EngineMessage<K> | null {
    if (message.type === 'died' || message.type === 'leaderExited' || message.type === 'paused') {
      this.end = message;
      return null;
    }
    if (message.type === 'error') {
      this.isWhole = true;
      if (!ENGINE_DEATHS.has(message.error.code)) throw new ServiceError(message.error);
      this.end = { type: 'died', cause: message.error };
      return null;
    }
    if (message.type === 'event') {
      if (message.event.type === 'delta') this.#giveCredit();
      this.isWhole = message.event.type === 'done';
    } else this.isWhole = message.type !== 'waiting' && message.type !== 'progress';
    return message;
  }

  #giveCredit(): void {
    this.#pendingCredit++;
    if (this.#pendingCredit < CREDIT_STEP) return;
    this.#engine.port.postMessage({ type: 'credit', count: this.#pendingCredit } satisfies AskerMessage);
    this.#pendingCredit = 0;
  }

  /** Aborts at once, whether or not anybody reads. */
  readonly #onAbort = (): void => {
    this.#engine.dismiss();
    this.#messages.fail(this.#signal.reason);
  };
}

/** Messages that a worker sent just before it died may arrive after its lock is released. */
const LAST_MESSAGES_MS = 50;

/** Reports the end of that epoch's worker. The function returned stops the watch. */
function watchEngine(locks: LockManager, epoch: string, report: (end: EngineEnd) => void): () => void {
  const watch = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // A worker with busy threads takes the browser seconds to end: its page's message comes first.
  const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<LeaderExit | null>) => {
    if (data?.epoch === epoch) report({ type: 'leaderExited' });
  };
  const onReleased = (): void => {
    timer = setTimeout(() => report({ type: 'died', cause: null }), LAST_MESSAGES_MS);
  };
  whenReleased(locks, engineLock(epoch), watch.signal).then(onReleased, (error: unknown) => {
    if (!watch.signal.aborted) throw error;
  });
  return () => {
    watch.abort();
    clearTimeout(timer);
    channel.close();
  };
}

// Errors.

async function engineUnavailable(
  scope: string,
  locks: LockManager,
  deadlineMs: number,
): Promise<ServiceError> {
  const { held = [] } = await locks.query().catch(() => ({ held: [] }));
  const leads = held.some(({ name }) => name === leaderLock(scope));
  const seconds = Math.round(deadlineMs / 1000);
  return serverError(
    'engine_unavailable',
    leads
      ? `The tab that holds the Web Lock ${leaderLock(scope)} did not respond within ${seconds} s. Close the dialog that is open there, or that tab, and try again.`
      : `No tab of this site offered an engine within ${seconds} s. Open one that calls start(), and try again. If one is open, another script may hold its Web Lock ${leaderLock(scope)}.`,
  );
}

const engineFailed = (times: number): ServiceError =>
  serverError(
    'engine_failed',
    `The engine stopped ${times} times on this request before it had answered. The device may be out of memory: close other tabs, or choose a smaller model. Where the site's data was cleared, reload its open tabs.`,
  );
