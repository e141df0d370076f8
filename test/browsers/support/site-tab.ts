import type { Body, Run } from '../../browser/lifetime/site/run.ts';
import type { AddedModel } from '../../../src/catalog/added-models.ts';
import type { StartOptions } from '../../../src/page/start-options.ts';
import { waitFor, type Browser, type Tab } from './driver.ts';

/** What the counting engine says, so many tokens long. */
export const counted = (tokens: number): string =>
  Array.from({ length: tokens }, (_, index) => `${index + 1} `).join('');

/** Starts the engine that counts, in place of the library's own. */
const COUNTING: StartOptions = { workerUrl: '/counting-worker.js' };

let runs = 0;

/** A tab of the site, with localtext started and a key. */
export class SiteTab {
  readonly #tab: Tab;
  #key = '';
  #closed = false;

  readonly #options: StartOptions;

  private constructor(tab: Tab, options: StartOptions) {
    this.#tab = tab;
    this.#options = options;
  }

  static async open(browser: Browser, siteUrl: string, options: StartOptions = COUNTING): Promise<SiteTab> {
    const tab = new SiteTab(await browser.open(`${siteUrl}/lifetime-page.html`), options);
    await tab.#start();
    return tab;
  }

  async #start(): Promise<void> {
    await waitFor(this.#tab, () => 'lifetime' in window);
    this.#key = await this.#tab.evaluate(
      (options) => window.lifetime.start({ isolation: [], ...options }),
      this.#options,
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

  /** The browser may need the page closed to stop its service worker: then it is opened again. */
  async stopServiceWorker(browser: Browser): Promise<void> {
    const url = await this.#tab.evaluate(() => location.href);
    await browser.stopServiceWorker(this.#tab);
    if ((await this.#tab.evaluate(() => location.href)) === url) return;
    await this.#tab.goto(url);
    await this.#start();
  }

  /** Start of the service worker in milliseconds since 1970, if it tells. */
  workerStarted(): Promise<number> {
    return this.#tab.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = ({ data }) => resolve(data as number);
          navigator.serviceWorker.controller?.postMessage('started?', [port2]);
        }),
    );
  }

  /** @param own through `localtext.fetch` */
  async begin(parameters: Body, own = false): Promise<string> {
    const name = `run-${++runs}`;
    const { path, input, clip } = parameters;
    const isChat = [path, input, clip].every((each) => each === undefined);
    const body = isChat
      ? { messages: [{ role: 'user' as const, content: 'Count.' }], ...parameters }
      : parameters;
    await this.#tab.evaluate(([run, key, asked, how]) => window.lifetime.begin(run, key, asked, how), [
      name,
      this.#key,
      body,
      { own },
    ] as const);
    return name;
  }

  /** Resolves when the engine computes. */
  async untilBusy(): Promise<void> {
    await waitFor(this.#tab, async () => {
      const { models } = await window.lifetime.handle().status();
      return models.some(({ running }) => running > 0);
    });
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

  /** Keeps the page's script busy once its engine has started. @returns the end, in milliseconds since 1970 */
  async keepBusy(milliseconds: number): Promise<number> {
    await waitFor(this.#tab, async () => {
      const { held } = await window.lifetime.locks();
      return held.some((name) => name.startsWith('localtext:engine:'));
    });
    const until = await this.#tab.evaluate((busyMs) => {
      const end = Date.now() + busyMs;
      setTimeout(() => {
        while (Date.now() < end);
      }, 200);
      return end;
    }, milliseconds);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return until;
  }

  /** Returns the status of a GET. */
  status(path: string, key = this.#key): Promise<number> {
    return this.#tab.evaluate(
      async ([url, apiKey]) => (await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })).status,
      [path, key] as const,
    );
  }

  /** Posts a decision. @returns the probabilities of its choices, a list a question */
  decide(body: object): Promise<number[][]> {
    return this.#tab.evaluate(
      async ([apiKey, request]) => {
        const response = await fetch('/v1/decisions', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
        });
        const text = await response.text();
        if (!response.ok) throw new Error(text);
        const { answers } = JSON.parse(text) as { answers: { probabilities: { probability: number }[] }[] };
        return answers.map(({ probabilities }) => probabilities.map(({ probability }) => probability));
      },
      [this.#key, body] as const,
    );
  }

  epoch(): Promise<string> {
    return this.#tab.evaluate(async () => (await window.lifetime.handle().status()).epoch);
  }

  async ready(model: string): Promise<void> {
    await this.#tab.evaluate((id) => window.lifetime.handle().ready(id), model);
  }

  /** Does not wait for it: `loadPhase()` tells how far it is. */
  async beginLoad(model: string): Promise<void> {
    await this.#tab.evaluate((id) => {
      const onProgress = ({ phase }: { phase: string }): string => (document.title = phase);
      document.title = '';
      window.lifetime
        .handle()
        .ready(id, { onProgress })
        .then(
          () => (document.title = 'ready'),
          (error: Error) => (document.title = error.message),
        );
    }, model);
  }

  loadPhase(): Promise<string> {
    return this.#tab.evaluate(() => document.title);
  }

  /** Returns the weights and the backend of a loaded model. */
  fingerprint(model: string): Promise<string | null | undefined> {
    return this.#tab.evaluate(async (id) => {
      const { models } = await window.lifetime.handle().status();
      return models.find((each) => each.id === id)?.fingerprint;
    }, model);
  }

  /** Adds a file of the site as if the user had chosen it. */
  addModel(path: string, id: string): Promise<AddedModel> {
    return this.#tab.evaluate(
      async ([url, name]) => {
        const file = new File([await (await fetch(url, { cache: 'no-store' })).blob()], 'model.gguf');
        return window.lifetime.handle().models.add(file, { id: name });
      },
      [path, id] as const,
    );
  }

  async removeModel(id: string): Promise<void> {
    await this.#tab.evaluate((name) => window.lifetime.handle().models.remove(name), id);
  }

  /** Names of the variants of which anything is stored. */
  /** Exports a model, deletes it, and imports its files. @returns the variants that are whole again */
  reimport(model: string): Promise<string[]> {
    return this.#tab.evaluate(async (id) => {
      const { weights } = window.lifetime.handle();
      const exported = await weights.export(id);
      const files = await Promise.all(
        exported.map(async (file) => {
          const name = file.path.split('/').at(-1) ?? '';
          return new File([await (await file.open()).blob()], name);
        }),
      );
      await weights.delete(id);
      const whole: string[] = [];
      await weights.import(files, { onFile: ({ completed }) => whole.push(...completed) });
      return whole;
    }, model);
  }

  storedVariants(): Promise<string[]> {
    return this.#tab.evaluate(async () => {
      const { variants } = await window.lifetime.handle().weights.list();
      return variants.filter(({ storedBytes }) => storedBytes > 0).map(({ variant }) => variant);
    });
  }

  /** Vectors, by the same route as a client's. */
  embed(input: string[]): Promise<number[][]> {
    return this.#tab.evaluate(
      async ([apiKey, texts]) => {
        const response = await fetch('/v1/embeddings', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'jade-mole-4', input: texts }),
        });
        if (!response.ok) throw new Error(await response.text());
        const { data } = (await response.json()) as { data: { embedding: number[] }[] };
        return data.map(({ embedding }) => embedding);
      },
      [this.#key, input] as const,
    );
  }

  plays(type: string): Promise<boolean> {
    return this.#tab.evaluate((asked) => document.createElement('audio').canPlayType(asked) !== '', type);
  }

  /** The text of a clip, or of the error. */
  transcribe(clipUrl: string): Promise<string> {
    return this.#tab.evaluate(
      async ([apiKey, url]) => {
        const form = new FormData();
        form.set('file', await (await fetch(url)).blob(), url.slice(url.lastIndexOf('/') + 1));
        form.set('model', 'coral-wren-4');
        const headers = { authorization: `Bearer ${apiKey}` };
        const response = await fetch('/v1/audio/transcriptions', { method: 'POST', headers, body: form });
        const { text, error } = (await response.json()) as { text?: string; error?: { message: string } };
        return text ?? error?.message ?? '';
      },
      [this.#key, clipUrl] as const,
    );
  }

  /** Speaks a text. @returns the bytes of the sound, or the error */
  speak(
    input: string,
    format?: string,
  ): Promise<{ bytes: number; type: string | null; error: string | null }> {
    return this.#tab.evaluate(
      async ([apiKey, text, wanted]) => {
        const response = await fetch('/v1/audio/speech', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'silver-lark-4', input: text, response_format: wanted }),
        });
        const { byteLength: bytes } = await response.clone().arrayBuffer();
        const error = response.ok
          ? null
          : ((await response.json()) as { error: { message: string } }).error.message;
        return { bytes, type: response.headers.get('content-type'), error };
      },
      [this.#key, input, format] as const,
    );
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
