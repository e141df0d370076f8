import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { EXPECTED } from '../support/llama-calls/observe-calls.ts';

const GGUF = 'models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';

/** A page with llama.cpp alone, on a model of two layers. */
async function open(): Promise<Page> {
  const site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  site.serve(`/${GGUF}`, await firstLayers(`public/${GGUF}`, 2));
  const page = await (await launch()).newPage();
  await page.goto(`${site.url}/llama-page.html`);
  return page;
}

test('llama.cpp’s server does what the scheduler relies on, and its fake in the unit tests imitates', async () => {
  expect(await (await open()).evaluate(() => window.observeLlama())).toEqual(EXPECTED);
});

test('saved prompt states take no more tokens than the context, and a schema is held to beside them', async () => {
  const page = await open();
  const { dropped, json } = await page.evaluate(() => window.saveStates(24));
  expect(dropped).toBeGreaterThan(0);
  expect(JSON.parse(json)).toEqual({ name: expect.stringMatching(/^[ab]$/) as string });
});

test('saved prompt states take no more bytes than a load allows', async () => {
  const page = await open();
  const { dropped, outgrown } = await page.evaluate(() =>
    window.saveStates(12, { checkpoints: 1, savedBytes: 2 ** 20 }),
  );
  expect(outgrown).toBeGreaterThan(0);
  expect(dropped).toBe(0);
});

const LINES =
  'The old harbour lies on the north side of the lake, and a lion of stone looks to the mountains. ';

test.each([
  { temperature: 0 },
  { temperature: 0.8, seed: 7, top_k: 0 },
  { temperature: 0, grammar: 'root ::= [A-Za-z ,.]*', repeat_penalty: 1.1, frequency_penalty: 0.2 },
])('tokens that are drafted are those that come without drafts (%o)', async (sampling) => {
  const page = await open();
  const complete = (drafts: boolean) =>
    page.evaluate((options) => window.draftTokens(options), {
      gguf: `/${GGUF}`,
      drafts,
      fields: { prompt: LINES.repeat(4), n_predict: 96, ignore_eos: true, ...sampling },
    });
  const [plain, drafted] = [await complete(false), await complete(true)];
  expect(drafted.tokens).toEqual(plain.tokens);
  expect(plain.accepted).toBe(0);
  if (Object.keys(sampling).length === 1) expect(drafted.accepted).toBeGreaterThan(0);
});

test('a grammar that reads brackets in ever more ways, after a control token’s text, does not lose the reply', async () => {
  const page = await open();
  const grammar = 'root ::= "<|im_start|>" a\na ::= b | c | "1"\nb ::= "[" a "]"\nc ::= "[" a ","? "]"';
  const raised = ['[', 1].map((token) => [token, 100]);
  const fields = { prompt: LINES, n_predict: 64, temperature: 0, grammar, logit_bias: raised };
  const options = { gguf: `/${GGUF}`, drafts: false, fields };
  const { tokens } = await page.evaluate((given) => window.draftTokens(given), options);
  expect(tokens.join('')).toMatch(/^<\|im_start\|>\[{48,}$/);
});
