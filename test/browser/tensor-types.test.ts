import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { inFormat, inFloat32, type LowBit } from '../support/low-bit.ts';
import { openPage } from '../support/open-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { addGguf } from '../support/add-gguf.ts';
import { ask } from '../support/ask-page.ts';

const GGUF = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const LAYERS = 2;

let context: BrowserContext;
let page: Page;
let key: string;
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('types');
  context = await launch();
  ({ page, key } = await openPage(context, inject('siteUrl')));
});

/** What a model says first: its text, and the log probabilities of the likeliest first tokens. */
interface Said {
  quantization: string;
  text: string | null | undefined;
  first: Record<string, number>;
}

/** Adds a file as the user does, asks its model, and removes it. */
async function answerOf(name: string, file: Uint8Array): Promise<Said> {
  await writeFile(join(folder, `${name}.gguf`), file);
  const { id: added, quantization } = await addGguf(page, join(folder, `${name}.gguf`));
  const more = { max_tokens: 8, logprobs: true, top_logprobs: 20 };
  const { choices } = await ask(page, key, added, 'What is the capital of France?', more);
  await page.evaluate(async (id) => (await window.localtext).models.remove(id), added);
  const top = choices[0]?.logprobs?.content?.[0]?.top_logprobs ?? [];
  const first = Object.fromEntries(top.map(({ token, logprob }) => [token, logprob]));
  return { quantization, text: choices[0]?.message.content, first };
}

/** The mean difference between the log probabilities of tokens that both name, and how many these are. */
function compare(one: Said, other: Said): { common: number; difference: number } {
  const common = Object.keys(one.first).filter((token) => token in other.first);
  const differences = common.map((token) => Math.abs((one.first[token] ?? 0) - (other.first[token] ?? 0)));
  return {
    common: common.length,
    difference: differences.reduce((sum, each) => sum + each, 0) / common.length,
  };
}

/** Inputs are rounded to 8 bits, but not for float32. */
test.each<LowBit>(['NVFP4', 'Q1_0', 'Q2_0'])(
  'a model in %s says what the same numbers say in float32',
  async (type) => {
    const quantized = inFormat(new Uint8Array(await firstLayers(GGUF, LAYERS)), type);
    const said = await answerOf(type, quantized);
    expect(said.quantization).toBe(type);
    expect(said.text).toMatch(/\S/);
    const other = await answerOf(`${type}-in-float32`, inFloat32(quantized, type));
    const { common, difference } = compare(said, other);
    console.log(`${type}: ${common} likely tokens in common, ${difference.toFixed(4)} apart on average`);
    expect(common).toBeGreaterThan(15);
    expect(difference).toBeLessThan(0.25);
  },
);

test('SmolLM2 in NVFP4 answers as it does in Q4_1', async () => {
  const file = new Uint8Array(await readFile(GGUF));
  const whole = await answerOf('whole', file);
  const said = await answerOf('NVFP4-whole', inFormat(file, 'NVFP4'));
  expect(said).toMatchObject({ quantization: 'NVFP4', text: expect.stringContaining('Paris') as string });
  const { common, difference } = compare(whole, said);
  console.log(
    `NVFP4: ${common} likely tokens in common with Q4_1, ${difference.toFixed(2)} apart on average`,
  );
  expect(common).toBeGreaterThan(10);
});
