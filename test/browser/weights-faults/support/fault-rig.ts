import { readFile } from 'node:fs/promises';
import type { BrowserContext } from 'playwright';
import { expect, inject } from 'vitest';

import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { FaultSite } from '../../../support/fault-site.ts';
import { launch } from '../../../support/launch.ts';
import { openPage } from '../../../support/open-page.ts';
import { EmbedderTab } from './embedder-tab.ts';

/** Real weights, small enough for many downloads; the large file has six chunks. */
export const VARIANT = 'all-minilm-l6-v2-int8';
export const MODEL = 'jade-mole-4';
export const FILE = `models/${VARIANT}/onnx/model.onnx`;
export const CHUNK = 4 * 2 ** 20;
export const CHUNKS = 6;

/**
 * Flag for baseline WASM. With optimized WASM, the fourth engine worker in a row makes Chromium's renderer grow by 1 to
 * 2 GB, and on two busy cores its main thread then passes on no fetch for up to a minute.
 */
const BASELINE_WASM = '--js-flags=--liftoff-only';

/** No other variant answers in its place. */
const catalog: Catalog = {
  ownedBy: 'test',
  models: defaultCatalog.models
    .filter(({ id }) => id === MODEL)
    .map((model) => ({
      ...model,
      variants: model.variants
        .filter(({ name }) => name === VARIANT)
        .map((variant) => ({ ...variant, optIn: false })),
    })),
};
export const options = { catalog };

/** A browser, a site with faults, and the vector that sound weights give. */
export class FaultRig {
  readonly site: FaultSite;
  readonly body: Buffer;
  readonly context: BrowserContext;
  #shared: EmbedderTab | null = null;
  #known: number[] = [];

  private constructor(site: FaultSite, body: Buffer, context: BrowserContext) {
    this.site = site;
    this.body = body;
    this.context = context;
  }

  static async start(): Promise<FaultRig> {
    const body = await readFile(`public/${FILE}`);
    const site = await FaultSite.start(inject('siteUrl'), `/${FILE}`, body);
    const rig = new FaultRig(site, body, await launch({ extraArgs: [BASELINE_WASM] }));
    rig.#known = await (await rig.tab()).embed();
    return rig;
  }

  /** One for most rows, as a page and its worker take longer to start than a model to load. */
  async tab(): Promise<EmbedderTab> {
    if (!this.#shared || this.#shared.page.isClosed()) this.#shared = await this.open();
    return this.#shared;
  }

  async open(context = this.context): Promise<EmbedderTab> {
    return new EmbedderTab(await openPage(context, this.site.url, options), MODEL, VARIANT);
  }

  async closeTabs(): Promise<void> {
    await Promise.all(this.context.pages().map((page) => page.close()));
  }

  /** A fresh browser whose engine worker runs this first. */
  async withWorkerPrefix(prefix: string, work: (tab: EmbedderTab) => Promise<void>): Promise<void> {
    const context = await launch({ extraArgs: [BASELINE_WASM] });
    this.site.workerPrefix = prefix;
    try {
      await work(await this.open(context));
    } finally {
      this.site.workerPrefix = '';
      await context.close();
    }
  }

  /** The weights in use are sound. */
  async expectKnown(tab: EmbedderTab): Promise<void> {
    const vector = await tab.embed();
    expect(vector).toHaveLength(384);
    const differences = vector.map((value, index) => Math.abs(value - (this.#known[index] ?? 9)));
    expect(Math.max(...differences)).toBeLessThan(1e-4);
  }
}
