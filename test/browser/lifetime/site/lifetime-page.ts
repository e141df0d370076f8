import OpenAI, { type ClientOptions } from 'openai';

import {
  createFetch,
  keys,
  type Localtext,
  type RequestLogEntry,
  start,
  type StartOptions,
  watchRequests,
} from '../../../../src/index.ts';
import { makeRun, type Body, type Run } from './run.ts';

declare global {
  interface Window {
    lifetime: typeof lifetime;
  }
}

/** The engine's workers that this page has started and not killed. */
const engines: Worker[] = [];
globalThis.Worker = class extends Worker {
  constructor(...given: ConstructorParameters<typeof Worker>) {
    super(...given);
    if (given[1]?.name === 'localtext-engine') engines.push(this);
  }
};

const aborts = new Map<string, AbortController>();
let handle: Localtext | null = null;
let fetchHere: typeof fetch | null = null;

const lifetime = {
  runs: {} as Record<string, Run>,
  /** How often each event of the handle has come. */
  events: { status: 0, update: 0 },
  /** Entries of the site's requests since `watch()`, by id. */
  log: {} as Record<string, RequestLogEntry>,

  /** Resolves to a key. */
  async start(options: StartOptions = {}): Promise<string> {
    handle = await start(options);
    for (const type of ['status', 'update'] as const)
      handle.addEventListener(type, () => void lifetime.events[type]++);
    return (await handle.keys.issue({ label: 'lifetime' })).key;
  },

  /** Sends later requests through `createFetch()`. Resolves to a key. */
  async startWithoutServiceWorker(): Promise<string> {
    fetchHere = createFetch();
    return (await keys.issue({ label: 'lifetime' })).key;
  },

  handle(): Localtext {
    if (!handle) throw new Error('start() was not called');
    return handle;
  },

  watch(): void {
    watchRequests((entry) => void (lifetime.log[entry.id] = entry));
  },

  /** Told the run of each delta. */
  onDelta: (() => undefined) as (name: string, run: Run) => void,

  /** `own`: through `localtext.fetch`. */
  begin(
    name: string,
    key: string,
    body: Body,
    { own, ...options }: ClientOptions & { own?: boolean } = {},
  ): void {
    const run: Run = {
      text: {},
      finish: {},
      deltas: 0,
      deltaTimes: [],
      usage: null,
      stored: null,
      error: null,
      ended: false,
      startedAt: performance.now(),
      endedAt: null,
    };
    const abort = new AbortController();
    lifetime.runs[name] = run;
    aborts.set(name, abort);
    const client = new OpenAI({
      apiKey: key,
      baseURL: `${location.origin}/v1`,
      dangerouslyAllowBrowser: true,
      // A test checks the first answer.
      maxRetries: 0,
      ...(fetchHere && { fetch: fetchHere }),
      ...(own && { fetch: lifetime.handle().fetch }),
      ...options,
    });
    void makeRun(client, body, run, { signal: abort.signal, onDelta: () => lifetime.onDelta(name, run) });
  },

  abort(name: string): void {
    aborts.get(name)?.abort();
  },

  /** Ends the engine's worker at once, in the middle of whatever it does; those that it has started end with it. */
  killEngine(): void {
    if (engines.length === 0) throw new Error('this tab has started no engine');
    for (const worker of engines.splice(0)) worker.terminate();
  },

  /** What can be said of a request that hangs. */
  async report(name: string): Promise<string> {
    const [locks, status] = await Promise.all([lifetime.locks(), handle?.status()]);
    return JSON.stringify({ run: lifetime.runs[name], locks, status });
  },

  /** Names of this library's locks that are held now, or waited for. */
  async locks(): Promise<{ held: string[]; pending: string[] }> {
    const { held = [], pending = [] } = await navigator.locks.query();
    const ours = (locks: LockInfo[]): string[] =>
      locks.flatMap(({ name }) => (name?.startsWith('localtext:') ? name : []));
    return { held: ours(held), pending: ours(pending) };
  },
};

window.lifetime = lifetime;
