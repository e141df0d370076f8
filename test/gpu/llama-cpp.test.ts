import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import type { Body } from '../browser/lifetime/site/run.ts';
import { Tab } from '../browser/lifetime/support/tab.ts';
import { REQUESTS } from '../chaos/requests.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { crashGpu } from '../support/crash-gpu.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

const LOSSES = 10;
/**
 * Time from a loss to the next token of the same reply. A GPU in software takes most of it to compute the prompt again.
 */
const MAX_GAP_MS = 30_000;
const TIMEOUT_MS = 300_000;

const MODEL = 'amber-phoenix-4';
const KINDS = [
  'streamed',
  'two choices',
  'with a stop sequence',
  'with log probabilities',
  'by a schema',
] as const;
type Kind = (typeof KINDS)[number];

/** The default chat model's GGUF alone. */
const catalog: Catalog = {
  ...defaultCatalog,
  models: defaultCatalog.models
    .filter(({ id, kind }) => id === MODEL || kind === 'embedding')
    .map((model) => ({ ...model, variants: model.variants.slice(-1) })),
};

/** A software GPU counts as none, and is what some machines have to run this on. */
const TAKE_SOFTWARE =
  "globalThis.GPUAdapterInfo && Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { value: false });\n";

const texts = {} as Record<Kind, string>;
let site: AlteredSite;
let context: BrowserContext;
let tab: Tab;

async function ask(on: Tab, body: Body): Promise<string> {
  const { text, error } = await on.run(body, TIMEOUT_MS);
  if (error) throw new Error(`${error.code ?? error.kind}: ${error.message}`);
  return JSON.stringify(text);
}

const fingerprint = async (): Promise<string> => {
  const { models } = await tab.status();
  return models.find(({ id }) => id === MODEL)?.fingerprint ?? '';
};

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  const onWasm = await launchWithWeights({ servedBy: site.url });
  try {
    const its = await Tab.open(onWasm, inject('siteUrl'), { catalog });
    for (const kind of KINDS) texts[kind] = await ask(its, REQUESTS[kind]);
  } finally {
    await onWasm.close();
  }
  site.workerPrefix = TAKE_SOFTWARE;
  context = await launchWithWeights({
    servedBy: site.url,
    webgpu: 'hardware',
    // Else a page gets no GPU after two losses.
    extraArgs: ['--disable-gpu-process-crash-limit', '--disable-domain-blocking-for-3d-apis'],
  });
  tab = await Tab.open(context, inject('siteUrl'), { catalog });
  const began = performance.now();
  await tab.load([MODEL]);
  console.log(`loaded ${await fingerprint()} in ${Math.round(performance.now() - began)} ms`);
  expect(await fingerprint(), 'the kernels need a GPU with shader-f16').toMatch(/-webgpu$/);
}, TIMEOUT_MS);

test('the same texts as on WASM, one at a time and all at once', async () => {
  for (const kind of KINDS) expect(await ask(tab, REQUESTS[kind]), kind).toBe(texts[kind]);
  const together = await Promise.all(KINDS.map((kind) => ask(tab, REQUESTS[kind])));
  for (const [at, kind] of KINDS.entries()) expect(together[at], `${kind}, with others`).toBe(texts[kind]);
}, 600_000);

test(
  'an abort frees the GPU',
  async () => {
    // It would take minutes, and does not give way.
    const run = await tab.begin({ ...REQUESTS.streamed, max_tokens: 7000, logit_bias: { 2: -100 } });
    await tab.deltas(run, 3);
    await tab.abort(run);
    await tab.untilFree();
  },
  TIMEOUT_MS,
);

test(`a GPU that is lost ${LOSSES} times: each reply goes on, and the next request is answered`, async () => {
  const gaps: number[] = [];
  for (let loss = 1; loss <= LOSSES; loss++) {
    const run = await tab.begin(REQUESTS.streamed);
    await tab.deltas(run, 3);
    await crashGpu(context);
    const { text, error, deltaTimes } = await tab.ended(run, TIMEOUT_MS);
    expect(error, `loss ${loss}`).toBeNull();
    expect(JSON.stringify(text), `loss ${loss}`).toBe(texts.streamed);
    gaps.push(Math.max(...deltaTimes.map((time, at) => time - (deltaTimes[at - 1] ?? time))));
    expect(await ask(tab, REQUESTS['by a schema'])).toBe(texts['by a schema']);
  }
  console.log(`the longest gap of each reply, ms: ${gaps.map(Math.round).join(', ')}`);
  expect(await fingerprint()).toMatch(/-webgpu$/);
  expect(Math.max(...gaps)).toBeLessThan(MAX_GAP_MS);
}, 1_200_000);
