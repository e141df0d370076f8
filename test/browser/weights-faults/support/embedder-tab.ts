import type { Page } from 'playwright';
import { expect } from 'vitest';

import type { StartedPage } from '../../../support/open-page.ts';

/** A tab, and the one model of its site. */
export class EmbedderTab {
  readonly page: Page;
  readonly #key: string;
  readonly #model: string;
  readonly #variant: string;

  constructor({ page, key }: StartedPage, model: string, variant: string) {
    this.page = page;
    this.#key = key;
    this.#model = model;
    this.#variant = variant;
  }

  embed(): Promise<number[]> {
    return this.page.evaluate(
      async ([apiKey, model]) => {
        const input = 'What is the capital of France?';
        const { data } = await window.client(apiKey).embeddings.create({ model, input });
        return data[0]?.embedding ?? [];
      },
      [this.#key, this.#model] as const,
    );
  }

  /** `loaded`, or the error's code and message; and the phases in order. */
  ready(): Promise<{ outcome: string; phases: string[] }> {
    const loading = this.page.evaluate(async (id) => {
      const phases: string[] = [];
      const localtext = await window.localtext;
      const loaded = localtext.ready(id, {
        onProgress: ({ phase }) => {
          if (phases.at(-1) !== phase) phases.push(phase);
        },
      });
      const outcome = await loaded.then(
        () => 'loaded',
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      );
      return { outcome, phases };
    }, this.#model);
    // A test may end, or close the tab, before.
    loading.catch(() => undefined);
    return loading;
  }

  /** A load that has failed is not tried again at once. */
  async expectLoaded(): Promise<void> {
    const outcome = async (): Promise<string> => (await this.ready()).outcome;
    await expect.poll(outcome, { interval: 100, timeout: 60_000 }).toBe('loaded');
  }

  remove(): Promise<void> {
    return this.page.evaluate(async (name) => (await window.localtext).weights.delete(name), this.#variant);
  }

  /** What kind of storage there is, and bytes of the model in it. */
  stored(): Promise<{ kind: string; bytes: number }> {
    return this.page.evaluate(async (name) => {
      const { kind, variants } = await (await window.localtext).weights.list();
      return { kind, bytes: variants.find(({ variant }) => variant === name)?.storedBytes ?? 0 };
    }, this.#variant);
  }

  /** Reloads the page: the next engine worker knows nothing of the stored bytes. */
  async reload(): Promise<void> {
    await this.page.reload();
    await this.page.evaluate(async () => (await window.localtext).status());
  }
}
