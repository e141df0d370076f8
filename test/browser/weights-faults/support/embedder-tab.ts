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

  /** `loaded`, or the error's code and message. */
  ready(): Promise<string> {
    const loading = this.page.evaluate(
      async (id) =>
        (await window.localtext).ready(id).then(
          () => 'loaded',
          (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
        ),
      this.#model,
    );
    // A test may end, or close the tab, before.
    loading.catch(() => undefined);
    return loading;
  }

  /** A load that has failed is not tried again at once. */
  async expectLoaded(): Promise<void> {
    await expect.poll(() => this.ready(), { interval: 100, timeout: 60_000 }).toBe('loaded');
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
