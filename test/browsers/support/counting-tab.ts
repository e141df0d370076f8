import type { Body, Run } from '../../browser/lifetime/site/run.ts';
import { waitFor, type Browser, type Tab } from './driver.ts';

/** What the counting engine says, so many tokens long. */
export const counted = (tokens: number): string =>
  Array.from({ length: tokens }, (_, index) => `${index + 1} `).join('');

let runs = 0;

/** A tab of the site whose engine counts, with a key. */
export class CountingTab {
  readonly #tab: Tab;
  #key = '';
  #closed = false;

  private constructor(tab: Tab) {
    this.#tab = tab;
  }

  static async open(browser: Browser, siteUrl: string): Promise<CountingTab> {
    const tab = new CountingTab(await browser.open(`${siteUrl}/lifetime-page.html`));
    await tab.#start();
    return tab;
  }

  async #start(): Promise<void> {
    await waitFor(this.#tab, () => 'lifetime' in window);
    this.#key = await this.#tab.evaluate(() =>
      window.lifetime.start({ isolation: 'off', workerUrl: '/counting-worker.js' }),
    );
  }

  async reload(): Promise<void> {
    await this.#tab.reload();
    await this.#start();
  }

  async close(): Promise<void> {
    if (!this.#closed) await this.#tab.close();
    this.#closed = true;
  }

  async begin(parameters: Body): Promise<string> {
    const name = `run-${(runs += 1)}`;
    const body: Body = { messages: [{ role: 'user', content: 'Count.' }], ...parameters };
    await this.#tab.evaluate(([run, key, asked]) => window.lifetime.begin(run, key, asked), [
      name,
      this.#key,
      body,
    ] as const);
    return name;
  }

  /** Resolves when so many deltas have come, or it has ended. */
  async deltas(name: string, least: number): Promise<void> {
    await waitFor(
      this.#tab,
      ([run, wanted]) => {
        const { deltas, ended } = window.lifetime.runs[run] ?? { deltas: 0, ended: true };
        return ended || deltas >= wanted;
      },
      [name, least] as const,
    );
  }

  async ended(name: string, timeoutMs = 30_000): Promise<Run | undefined> {
    await waitFor(this.#tab, (run) => window.lifetime.runs[run]?.ended ?? true, name, timeoutMs);
    return this.#tab.evaluate((run) => window.lifetime.runs[run], name);
  }

  async run(parameters: Body, timeoutMs?: number): Promise<Run | undefined> {
    return this.ended(await this.begin(parameters), timeoutMs);
  }

  async abort(name: string): Promise<void> {
    await this.#tab.evaluate((run) => window.lifetime.abort(run), name);
  }

  /** Of a GET. */
  status(path: string, key = this.#key): Promise<number> {
    return this.#tab.evaluate(
      async ([url, apiKey]) => (await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })).status,
      [path, key] as const,
    );
  }

  epoch(): Promise<string> {
    return this.#tab.evaluate(async () => (await window.lifetime.handle().status()).epoch);
  }

  /** Resolves when nothing runs in the engine and no request's lock is held. */
  async untilFree(): Promise<void> {
    await waitFor(this.#tab, async () => {
      const { models } = await window.lifetime.handle().status();
      const { held } = await window.lifetime.locks();
      const busy = models.some(({ running, queued }) => running + queued > 0);
      return !busy && !held.some((name) => /:(request|in-flight):/.test(name));
    });
  }
}
