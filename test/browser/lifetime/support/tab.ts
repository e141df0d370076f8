import type { ClientOptions } from 'openai';
import type { BrowserContext, Page } from 'playwright';

import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { LocaltextStatus } from '../../../../src/page/localtext.ts';
import type { RequestLogEntry } from '../../../../src/protocol/request-log.ts';
import type { StartOptions } from '../../../../src/page/start-options.ts';
import type { Body, Run } from '../site/run.ts';

export const PAGE = '/lifetime-page.html';

export interface OpenOptions {
  path?: string;
  /** `none`: nothing is started. */
  start?: 'service-worker' | 'fetch' | 'none';
  isolation?: StartOptions['isolation'];
  catalog?: Catalog;
}

let count = 0;

/** A tab of the site, with its own key. */
export class Tab {
  readonly page: Page;
  key = '';
  crashed = false;

  readonly #catalog: Catalog | undefined;

  private constructor(page: Page, catalog?: Catalog) {
    this.page = page;
    this.#catalog = catalog;
  }

  static async open(context: BrowserContext, siteUrl: string, options: OpenOptions = {}): Promise<Tab> {
    const page = await context.newPage();
    page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
    await page.goto(siteUrl + (options.path ?? PAGE));
    const tab = new Tab(page, options.catalog);
    page.on('crash', () => (tab.crashed = true));
    await tab.start(options);
    return tab;
  }

  async start({
    start = 'service-worker',
    isolation = [],
  }: Omit<OpenOptions, 'path' | 'catalog'> = {}): Promise<void> {
    if (start === 'none') return;
    this.key = await this.page.evaluate(
      ([how, headers, catalog]) =>
        how === 'fetch'
          ? window.lifetime.startWithoutServiceWorker()
          : window.lifetime.start({ isolation: headers, ...(catalog && { catalog }) }),
      [start, isolation, this.#catalog] as const,
    );
  }

  /** Another key: the last one was deleted with the site's data. */
  async issue(): Promise<void> {
    this.key = await this.page.evaluate(
      async () => (await window.lifetime.handle().keys.issue({ label: 'again' })).key,
    );
  }

  /** `own`: through `localtext.fetch`. */
  async begin(
    body: Body,
    options: Pick<ClientOptions, 'timeout' | 'maxRetries'> & { own?: boolean } = {},
  ): Promise<string> {
    const name = `run-${++count}`;
    await this.page.evaluate((given) => window.lifetime.begin(...given), [
      name,
      this.key,
      body,
      options,
    ] as const);
    return name;
  }

  /** Resolves when so many deltas have come, or it has ended. */
  async deltas(name: string, least: number): Promise<void> {
    await this.page.waitForFunction(
      ([run, wanted]) => {
        const { deltas, ended } = window.lifetime.runs[run] ?? { deltas: 0, ended: true };
        return ended || deltas >= wanted;
      },
      [name, least] as const,
      { polling: 10, timeout: 60_000 },
    );
  }

  hasEnded(name: string): Promise<boolean> {
    return this.page.evaluate((run) => window.lifetime.runs[run]?.ended ?? true, name);
  }

  /** @throws Error when it has not ended in time: something hangs. */
  async ended(name: string, timeout = 60_000): Promise<Run> {
    const isOver = (run: string): boolean => window.lifetime.runs[run]?.ended ?? true;
    try {
      await this.page.waitForFunction(isOver, name, { polling: 10, timeout });
    } catch (error) {
      const seen = await this.page.evaluate((run) => window.lifetime.report(run), name);
      throw new Error(`${name} has not ended after ${timeout} ms: ${seen}`, { cause: error });
    }
    const run = await this.page.evaluate((known) => window.lifetime.runs[known], name);
    if (!run) throw new Error(`the page has lost ${name}`);
    return run;
  }

  async run(body: Body, timeout?: number): Promise<Run> {
    return this.ended(await this.begin(body), timeout);
  }

  async abort(name: string): Promise<void> {
    await this.page.evaluate((run) => window.lifetime.abort(run), name);
  }

  /** One after the other. */
  async load(models: readonly string[] = ['amber-phoenix-4', 'jade-mole-4']): Promise<void> {
    await this.page.evaluate(async (ids) => {
      for (const model of ids) await window.lifetime.handle().ready(model);
    }, models);
  }

  /** Number of requests that run or wait in an engine. Models may share one. */
  async busy(): Promise<number> {
    return Math.max(...(await this.status()).models.map(({ running, queued }) => running + queued));
  }

  /** Resolves when nothing runs nor waits in the engine. */
  async untilFree(): Promise<void> {
    await this.page.waitForFunction(
      async () => {
        const { epoch, models } = await window.lifetime.handle().status();
        return epoch && models.every(({ running, queued }) => running + queued === 0);
      },
      null,
      { polling: 10, timeout: 180_000 },
    );
  }

  status(): Promise<LocaltextStatus> {
    return this.page.evaluate(() => window.lifetime.handle().status());
  }

  /** Keeps the entries of requests, for `log()`. */
  watch(): Promise<void> {
    return this.page.evaluate(() => window.lifetime.watch());
  }

  log(): Promise<RequestLogEntry[]> {
    return this.page.evaluate(() => Object.values(window.lifetime.log));
  }

  locks(): Promise<{ held: string[]; pending: string[] }> {
    return this.page.evaluate(() => window.lifetime.locks());
  }

  leads(): Promise<boolean> {
    return this.page.evaluate(async () => (await window.lifetime.handle().status()).leader);
  }
}
