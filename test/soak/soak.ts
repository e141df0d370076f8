import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright';

import { findRoot, treeBytes } from '../support/process-memory.ts';
import { Random } from '../chaos/random.ts';
import { openPage } from '../support/open-page.ts';
import { REQUESTS } from './requests.ts';
import { runRequest, type Ending } from './run-request.ts';

const TABS = 3;
/** Requests of one tab that are under way at once. */
const LANES = 2;
const ABORTED_SHARE = 0.2;
const MAX_ABORT_MS = 4000;
const SAMPLE_MS = 5000;
const MEGABYTE = 1e6;

const KINDS = Object.entries(REQUESTS);

export interface SoakFigures {
  minutes: number;
  requests: number;
  endings: Record<string, number>;
  longestMs: number;
  /** Median of the browser's processes together, in each third of the run; empty where it cannot be measured. */
  memoryMegabytes: number[];
  epochs: number;
}

/** Three tabs that ask for everything the service offers, some of it aborted, for minutes. */
export class Soak {
  /** What is wrong, as it was found. */
  readonly faults: string[] = [];
  readonly #context: BrowserContext;
  readonly #profile: string;
  readonly #random: Random;
  readonly #endings = new Map<string, number>();
  readonly #samples: { at: number; bytes: number }[] = [];
  readonly #epochs = new Set<string>();
  readonly #tabs: { page: Page; key: string }[] = [];
  #requests = 0;
  #longestMs = 0;

  constructor(context: BrowserContext, profile: string, seed: number) {
    this.#context = context;
    this.#profile = profile;
    this.#random = new Random(seed);
  }

  async run(siteUrl: string, minutes: number): Promise<SoakFigures> {
    await this.#open(siteUrl);
    const began = Date.now();
    const until = began + minutes * 60_000;
    const lanes = this.#tabs.flatMap((tab) => Array.from({ length: LANES }, () => this.#lane(tab, until)));
    const over = Promise.all(lanes).then(() => 'over' as const);
    const root = process.platform === 'linux' ? await findRoot(`--user-data-dir=${this.#profile}`) : null;
    for (let next = began; (await Promise.race([over, sleep(SAMPLE_MS, 'sample')])) !== 'over';) {
      await this.#sample(root);
      if (Date.now() < next) continue;
      next += 60_000;
      console.log(
        `${Math.round((Date.now() - began) / 60_000)} minutes: ${JSON.stringify(this.#figures(began, minutes))}`,
      );
    }
    return this.#figures(began, minutes);
  }

  async #open(siteUrl: string): Promise<void> {
    while (this.#tabs.length < TABS) {
      const { page } = await openPage(this.#context, siteUrl);
      page.on('console', (message) => {
        if (/an engine crashed|prompt cache/.test(message.text())) this.faults.push(message.text());
      });
      page.on('crash', () => this.faults.push('a page crashed'));
      const key = await page.evaluate(async () => {
        const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000, inFlight: 64 };
        return (await (await window.localtext).keys.issue({ label: 'soak', limits })).key;
      });
      this.#tabs.push({ page, key });
    }
    await this.#tabs[0]?.page.evaluate(async () => {
      for (const id of ['amber-phoenix-4', 'jade-mole-4']) await (await window.localtext).ready(id);
    });
  }

  async #lane({ page, key }: { page: Page; key: string }, until: number): Promise<void> {
    while (Date.now() < until) {
      const [kind, request] = this.#random.pick(KINDS);
      const aborted = this.#random.next() < ABORTED_SHARE;
      const abortAfterMs = aborted ? this.#random.next() ** 2 * MAX_ABORT_MS : null;
      this.#judge(kind, request.fails, await runRequest(page, key, request, abortAfterMs));
    }
  }

  #judge(kind: string, fails: number | undefined, ending: Ending): void {
    const { type, status, code, detail, ms } = ending;
    this.#requests++;
    this.#longestMs = Math.max(this.#longestMs, Math.round(ms));
    const name = type === 'error' ? `error ${status} ${code}` : type;
    this.#endings.set(name, (this.#endings.get(name) ?? 0) + 1);
    const isDue = type === 'aborted' || (fails === undefined ? type === 'answered' : status === fails);
    if (!isDue) this.faults.push(`${kind} ended as ${name} after ${Math.round(ms)} ms: ${detail}`);
  }

  async #sample(root: number | null): Promise<void> {
    if (root !== null) this.#samples.push({ at: Date.now(), bytes: await treeBytes(root) });
    const epoch = await this.#tabs[0]?.page.evaluate(
      async () => (await (await window.localtext).status()).epoch,
    );
    if (epoch) this.#epochs.add(epoch);
  }

  #figures(began: number, minutes: number): SoakFigures {
    const third = (minutes * 60_000) / 3;
    const medianOf = (index: number): number[] => {
      const inside = this.#samples.filter(({ at }) => Math.floor((at - began) / third) === index);
      const sorted = inside.map(({ bytes }) => bytes).toSorted((a, b) => a - b);
      const middle = sorted[Math.floor(sorted.length / 2)];
      return middle === undefined ? [] : [Math.round(middle / MEGABYTE)];
    };
    return {
      minutes,
      requests: this.#requests,
      endings: Object.fromEntries(this.#endings),
      longestMs: this.#longestMs,
      memoryMegabytes: [0, 1, 2].flatMap(medianOf),
      epochs: this.#epochs.size,
    };
  }
}
