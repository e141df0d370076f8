import { abortable, backoff, delay, withTimeout, protocolMismatch, serverError, ServiceError } from '#base';
import {
  listenDirectly,
  LEADER_EXIT_CHANNEL,
  leaderLock,
  leaderUrlLock,
  requestsRun,
  PROTOCOL_VERSION,
  type LeaderExit,
  type EngineMessage,
} from '#protocol';
import { loadChunk, startErrors } from '../load-chunk.ts';
import { LocaltextError } from '../localtext-error.ts';
import type { EngineSettings, EngineWorker } from './engine-worker.ts';

/** Lifetime of a worker below which the next one is started only after a pause. */
const SHORT_LIFE_MS = 5000;
/** How long a terminated worker may hold its lock. */
const RELEASE_MS = 5000;
const PAUSES = { firstMs: 250, maxMs: 10_000 };
/** Interval at which a tab that must give up leadership checks for running requests. */
const POLL_INTERVAL_MS = 250;
const FAILURES_TO_REPORT = 2;
/** Time limit for fetching the error messages after a failed start. */
const MESSAGE_MS = 2000;
/** Thefts of the leader lock in a row after which waiting requests are refused. */
const THEFTS_TO_REPORT = 3;
/** Time after a theft of the lock, after which the next one starts a new count. */
const THEFT_ROW_MS = 30_000;

type State =
  /** Another tab leads, or this one has left. */
  | { type: 'standby' }
  /** This tab leads. Ports wait for the worker. */
  | { type: 'starting'; ports: MessagePort[] }
  | { type: 'serving'; worker: EngineWorker }
  /** The worker does not start. Until it does, requests are refused, and so are direct ports. */
  | { type: 'failing'; error: ServiceError; direct: BroadcastChannel };

/** This tab's part in the election: it queues for the lock, and while it leads it owns the engine worker. */
export class ElectionMember extends EventTarget {
  readonly scope: string;
  readonly #settings: EngineSettings;
  #state: State = { type: 'standby' };
  /** Starts in a row that have failed. */
  #failures = 0;
  /** Starts in a row that have failed, or whose worker ended soon. */
  #shortLives = 0;
  /** Thefts of the lock in a row, and the time of the last one. */
  #thefts = { count: 0, at: -Infinity };

  /** The wait of `queueAgain()`, which its callers share. */
  #leaving: Promise<void> | null = null;
  /** Aborted when the lock of this term is lost or given up. */
  #term = new AbortController();
  /** Whether the next term begins by stealing the lock. */
  #steals = false;

  constructor(scope: string, settings: EngineSettings) {
    super();
    this.scope = scope;
    this.#settings = settings;
  }

  get leading(): boolean {
    return this.#state.type !== 'standby';
  }

  /**
   * Takes part until aborted. Dispatches `change` when leading begins or ends, and when a worker comes or
   * goes.
   */
  async run(leave: AbortSignal): Promise<void> {
    const { locks } = navigator;
    while (!leave.aborted) {
      const term = (this.#term = new AbortController());
      const signal = AbortSignal.any([leave, term.signal]);
      let isStolen = false;
      let leading: Promise<MessagePort[]> | undefined;
      const lead = () => {
        leading = this.#lead(signal);
        locks
          .request(leaderUrlLock(this.scope, location.origin + location.pathname), () => leading)
          .catch(() => undefined);
        return leading;
      };
      // The browser allows no signal beside `steal`, which does not wait.
      const options = this.#steals ? { steal: true } : { signal };
      this.#steals = false;
      await locks.request(leaderLock(this.scope), options, lead).catch((error: unknown) => {
        if (signal.aborted) return;
        if ((error as Error).name !== 'AbortError') throw error;
        const { count, at } = this.#thefts;
        const now = performance.now();
        this.#thefts = { count: now - at < THEFT_ROW_MS ? count + 1 : 1, at: now };
        // Another script has stolen the lock: two tabs would lead.
        isStolen = true;
        term.abort(error);
      });
      const { count } = this.#thefts;
      const ports = (await leading) ?? [];
      const isRow = isStolen && count >= THEFTS_TO_REPORT;
      const reason = isRow && (await startErrors().catch(() => null))?.lockStolen();
      for (const port of ports) {
        if (reason) refuse(port, reason);
        // Waiting callers ask again, and reach the next leader.
        else port.close();
      }
      if (isStolen) await delay(backoff(count - 1, PAUSES), leave).catch(() => undefined);
    }
  }

  /** Leads in place of a tab that does not answer. If that tab runs again, it ends its engine and queues. */
  takeOver(): void {
    if (this.leading || document.hidden) return;
    this.#steals = true;
    this.#term.abort();
  }

  /**
   * Queues again behind the waiting tabs, once no request runs. If no tab waits, this tab continues to lead.
   */
  queueAgain(): Promise<void> {
    return (this.#leaving ??= this.#leaveIdle().finally(() => (this.#leaving = null)));
  }

  async #leaveIdle(): Promise<void> {
    const { signal } = this.#term;
    while (this.leading && !signal.aborted && (await requestsRun(navigator.locks, this.scope)))
      await delay(POLL_INTERVAL_MS);
    if (!signal.aborted) await this.#giveWay();
  }

  async #giveWay(): Promise<void> {
    const term = this.#term;
    const { pending = [] } = await navigator.locks.query();
    if (pending.some(({ name }) => name === leaderLock(this.scope))) term.abort();
  }

  /** Owns the lock and a worker until aborted. Returns the ports that no worker has taken. */
  async #lead(signal: AbortSignal): Promise<MessagePort[]> {
    this.#enter({ type: 'starting', ports: [] });
    while (!signal.aborted) await this.#ownWorker(signal);
    return this.#enter({ type: 'standby' });
  }

  /** Passes a request's port on, or closes it when this tab does not lead. */
  serve(port: MessagePort, version: number): void {
    const state = this.#state;
    if (state.type === 'standby') port.close();
    else if (version !== PROTOCOL_VERSION) refuse(port, protocolMismatch());
    else if (state.type === 'serving') state.worker.serve(port);
    else if (state.type === 'failing') refuse(port, state.error);
    else {
      // A slow start: the tab is not lost.
      port.postMessage({ type: 'stage', stage: 'loading' } satisfies EngineMessage);
      state.ports.push(port);
    }
  }

  async #ownWorker(signal: AbortSignal): Promise<void> {
    let startedAt = Infinity;
    try {
      // Only the leading tab fetches this chunk.
      const { spawnEngineWorker } = await abortable(loadChunk(import('./engine-worker.ts')), signal);
      const worker = await spawnEngineWorker(this.scope, this.#settings, signal);
      startedAt = performance.now();
      this.#failures = 0;
      for (const port of this.#enter({ type: 'serving', worker })) worker.serve(port);
      // In the abort event: a page that closes runs no further task.
      signal.addEventListener('abort', () => announceExit(worker.epoch));
      await abortable(worker.gone, signal).catch(() => undefined);
      this.#enter({ type: 'starting', ports: [] });
      worker.terminate();
      if (signal.aborted) return;
      // A worker that has stopped running may keep its lock, which callers watch.
      const released = worker.released.then(() => true);
      if (!(await withTimeout(released, RELEASE_MS))) announceExit(worker.epoch);
    } catch (error) {
      if (signal.aborted) return;
      console.error('localtext: the engine worker did not start', error);
      await this.#fail(error, signal);
    }
    if (signal.aborted) return;
    if (performance.now() - startedAt > SHORT_LIFE_MS) {
      this.#shortLives = 0;
      return;
    }
    await delay(backoff(this.#shortLives++, PAUSES), signal).catch(() => undefined);
    // Another tab may be able to start a worker: its build may be later, or its page may have another policy.
    if (startedAt === Infinity && !signal.aborted) await this.#giveWay();
  }

  async #fail(error: unknown, signal: AbortSignal): Promise<void> {
    this.#failures++;
    const failure =
      error instanceof ServiceError
        ? error
        : this.#failures >= FAILURES_TO_REPORT
          ? await workerFailed(error, signal)
          : null;
    if (!failure || signal.aborted) return;
    const direct = listenDirectly(this.scope, (port) => refuse(port, failure));
    for (const port of this.#enter({ type: 'failing', error: failure, direct })) refuse(port, failure);
  }

  /** Enters a state. Returns the ports that waited in the previous one. */
  #enter(state: State): MessagePort[] {
    const before = this.#state;
    this.#state = state;
    if (before.type === 'failing') before.direct.close();
    this.dispatchEvent(new Event('change'));
    return before.type === 'starting' ? before.ports : [];
  }
}

function announceExit(epoch: string): void {
  const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  channel.postMessage({ epoch } satisfies LeaderExit);
  channel.close();
}

function refuse(port: MessagePort | BroadcastChannel, { wire }: ServiceError): void {
  port.postMessage({ type: 'error', error: wire } satisfies EngineMessage);
  port.close();
}

/**
 * Describes a failed start. The messages are on the same server as the worker's script, which may not answer.
 */
async function workerFailed(cause: unknown, signal: AbortSignal): Promise<ServiceError> {
  if (cause instanceof LocaltextError) return serverError(cause.code, cause.message, cause);
  const message = startErrors().then((module) => module.workerFailed(cause));
  const failure = await withTimeout(abortable(message, signal), MESSAGE_MS).catch(() => null);
  return failure ?? serverError('engine_worker_failed', String(cause), cause);
}
