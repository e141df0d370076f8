import type { BrowserContext } from 'playwright';

import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Body, Run } from '../browser/lifetime/site/run.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { crash, engineOf, killEngine } from '../browser/lifetime/support/kill.ts';
import { Tab } from '../browser/lifetime/support/tab.ts';
import { judge } from './judge.ts';
import { deleteDatabases, meddle } from './meddle.ts';
import { Random } from './random.ts';
import { chaosRequests, type RequestKind } from './requests.ts';

const TABS = 3;
/** A request that has not ended by then hangs. On a machine that others keep busy, one took 58 s to its first token. */
const HANG_MS = 180_000;

/** Everything that may happen in a round. */
export const EVENTS = [
  'close',
  'crash',
  'reload',
  'navigate',
  'engine',
  'service worker',
  'abort',
  'database',
  'frame',
  'none',
] as const;

type Event = (typeof EVENTS)[number];

interface Request {
  tab: Tab;
  kind: RequestKind;
  name: string;
  aborted: boolean;
}

export interface Figures {
  rounds: number;
  requests: number;
  /** How often each. */
  endings: Record<string, number>;
  events: Record<string, number>;
  longestRequestMs: number;
}

export interface DriverOptions {
  siteUrl: string;
  seed: number;
  catalog: Catalog;
  /** URL of what the catalog's speech model hears. */
  clip: string;
  /** What may happen; an event that is listed twice happens twice as often. */
  events: readonly Event[];
}

/** Three tabs that ask all the time, while one event happens in each round. Throws at the first thing that is wrong. */
export class Driver {
  readonly figures: Figures = { rounds: 0, requests: 0, endings: {}, events: {}, longestRequestMs: 0 };
  /** Engine workers that were seen. */
  readonly epochs = new Set<string>();
  readonly #context: BrowserContext;
  readonly #options: DriverOptions;
  readonly #requests: Record<RequestKind, Body>;
  readonly #kinds: RequestKind[];
  readonly #random: Random;
  readonly #references = new Map<string, Run>();
  #tabs: Tab[] = [];

  constructor(context: BrowserContext, options: DriverOptions) {
    this.#context = context;
    this.#options = options;
    this.#requests = chaosRequests(options.clip);
    this.#kinds = Object.keys(this.#requests) as RequestKind[];
    this.#random = new Random(options.seed);
  }

  /** Opens the tabs, and asks for each answer once, undisturbed. */
  async setUp(): Promise<void> {
    while (this.#tabs.length < TABS) this.#tabs.push(await this.#open());
    await this.#tabs[0]?.load();
    for (const [kind, body] of Object.entries(this.#requests)) {
      const run = await this.#random.pick(this.#tabs).run(body);
      if (run.error) throw new Error(`${kind}, undisturbed: ${run.error.message}`);
      this.#references.set(kind, run);
    }
  }

  async round(): Promise<void> {
    const requests: Request[] = [];
    for (const tab of this.#tabs) {
      for (let more = this.#random.below(3); more > 0; more--) {
        const kind = this.#random.pick(this.#kinds);
        requests.push({ tab, kind, name: await tab.begin(this.#requests[kind]), aborted: false });
      }
    }
    await new Promise((resolve) => {
      setTimeout(resolve, this.#random.next() ** 2 * 2000);
    });
    const event = this.#random.pick(this.#options.events);
    const lost = await this.#happen(event, requests);
    await this.#end(requests, lost, event);
    await this.#settle();
    this.figures.rounds++;
    tally(this.figures.events, event);
  }

  /** The tabs whose requests went with them. */
  async #happen(event: Event, requests: Request[]): Promise<Tab[]> {
    const tab = this.#random.pick(this.#tabs);
    switch (event) {
      case 'close':
        await tab.page.close();
        return this.#replace([tab]);
      case 'crash': {
        await crash(tab.page);
        // Tabs of one site may share a process, and the service worker with them.
        const gone = this.#tabs.filter(({ crashed }) => crashed);
        for (const { page } of gone) await page.close();
        return this.#replace(gone);
      }
      case 'reload':
        await tab.page.reload();
        await tab.start();
        return [tab];
      case 'navigate':
        await tab.page.goto('about:blank');
        await tab.page.goBack({ waitUntil: 'commit' });
        await tab.page.waitForFunction(() => 'lifetime' in window);
        await tab.start();
        return [tab];
      case 'engine': {
        const leader = this.#tabs.find(({ page }) => engineOf(page));
        if (leader) await killEngine(leader.page);
        return [];
      }
      case 'service worker':
        await stopServiceWorker(tab.page);
        return [];
      case 'abort': {
        if (requests.length === 0) return [];
        const request = this.#random.pick(requests);
        request.aborted = true;
        await request.tab.abort(request.name);
        return [];
      }
      case 'database':
        await deleteDatabases(tab.page);
        for (const each of this.#tabs) await each.issue();
        return [];
      case 'frame': {
        const errors = await meddle(tab.page);
        if (errors.length > 0) throw new Error(`uncaught: ${errors.join(', ')}`);
        return [];
      }
      case 'none':
        return [];
    }
  }

  async #end(requests: Request[], lost: Tab[], event: string): Promise<void> {
    const { figures } = this;
    for (const { tab, kind, name, aborted } of requests) {
      figures.requests++;
      if (lost.includes(tab)) {
        tally(figures.endings, 'gone with its tab');
        continue;
      }
      const run = await tab.ended(name, HANG_MS).catch((error: unknown) => {
        throw new Error(`round ${figures.rounds}, ${kind} hangs after ${event}`, { cause: error });
      });
      const reference = this.#references.get(kind);
      if (!reference) throw new Error(`no reference for ${kind}`);
      const serviceWorkerKilled = event === 'service worker' || event === 'crash';
      try {
        const { response_format: format, tools } = this.#requests[kind];
        const isJson = format !== undefined || tools !== undefined;
        tally(figures.endings, judge(run, reference, { aborted, serviceWorkerKilled, isJson }));
      } catch (error) {
        throw new Error(`round ${figures.rounds}, ${kind} after ${event}: ${(error as Error).message}`, {
          cause: error,
        });
      }
      figures.longestRequestMs = Math.max(figures.longestRequestMs, (run.endedAt ?? 0) - run.startedAt);
    }
  }

  /** Everything becomes free, and nothing is left behind. */
  async #settle(): Promise<void> {
    const [tab] = this.#tabs;
    if (!tab) throw new Error('no tab is left');
    await tab.untilFree();
    const { epoch } = await tab.status();
    if (epoch !== null) this.epochs.add(epoch);
    // A request may not have reached the new leader's engine yet, and its service worker polls once a second whether its
    // page is there.
    const deadline = Date.now() + HANG_MS;
    for (;;) {
      const { held, pending } = await tab.locks();
      const behind = [...held, ...pending].filter((name) => /^localtext:request:(?!.*:status-)/.test(name));
      if (behind.length === 0) return;
      if (Date.now() > deadline) throw new Error(`locks left behind: ${behind.join(', ')}`);
    }
  }

  async #replace(gone: Tab[]): Promise<Tab[]> {
    this.#tabs = this.#tabs.filter((tab) => !gone.includes(tab));
    while (this.#tabs.length < TABS) this.#tabs.push(await this.#open());
    return gone;
  }

  #open(): Promise<Tab> {
    const { siteUrl, catalog } = this.#options;
    return Tab.open(this.#context, siteUrl, { catalog });
  }
}

function tally(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
