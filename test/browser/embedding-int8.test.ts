import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { dot, embed } from '../support/ask-page.ts';

const siteUrl = inject('siteUrl');
const F32 = 'all-minilm-l6-v2-f32';
let context: BrowserContext;

beforeAll(async () => {
  context = await launchWithWeights();
});

/** Three sentences, and their similarities as Sentence Transformers publishes them for this model, on its quickstart page. */
const SENTENCES = ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.'];
const PUBLISHED = [0.666, 0.1046, 0.1411];

/** Short ones are the hardest: in few tokens, errors do not average out. */
const texts = [
  ...SENTENCES,
  'hi',
  '...',
  'AAAAAAAAAAAAAAAAAAAA',
  'What is the capital of France?',
  'Paris is the capital and most populous city of France.',
  'Wie komme ich am schnellsten zum Bahnhof?',
  '今日は天気がいいですね。',
  'SELECT id, name FROM users WHERE age > 30 ORDER BY name;',
  'Refund not received after 14 days, order #48213-B, please help!',
  'The sea is wide, and a small boat goes far. '.repeat(6),
  Array.from({ length: 120 }, (_, i) => `number ${i * 37}`)
    .join(', ')
    .slice(0, 900),
  'Each answer names its weights, their quantization and what ran them, and says how long it took. '.repeat(
    12,
  ),
];

interface Embedded {
  fingerprint: string | null;
  together: number[][];
  alone: number[][];
}

/** All texts in one request, and some of them each in its own request. */
async function embedWith(prefer: string[]): Promise<Embedded> {
  const { page, key } = await openPage(context, siteUrl, { prefer });
  const vectorsOf = (input: string[]) => embed(page, key, 'jade-mole-4', input);
  const together = await vectorsOf(texts);
  const alone = (await Promise.all(texts.map((input) => vectorsOf([input])))).flat();
  const { models } = await page.evaluate(async () => (await window.localtext).status());
  await page.close();
  const fingerprint = models.find(({ id }) => id === 'jade-mole-4')?.fingerprint ?? null;
  return { fingerprint, together, alone };
}

test('MiniLM in 8 bits is near MiniLM in 32, and a vector does not depend on what is asked beside it', async () => {
  const full = await embedWith([F32]);
  const small = await embedWith([]);
  expect(full.fingerprint).toMatch(/^all-minilm-l6-v2-f32-transformers-wasm/);
  expect(small.fingerprint).toMatch(/^all-minilm-l6-v2-int8-transformers-wasm/);
  expect(small.together.map(({ length }) => length)).toEqual(texts.map(() => 384));
  const [a, b, c] = full.together;
  for (const [index, value] of [dot(a, b), dot(a, c), dot(b, c)].entries())
    expect(value).toBeCloseTo(PUBLISHED[index] ?? NaN, 4);
  expect(small.alone).toEqual(small.together);
  for (const [at, vector] of small.together.entries()) {
    const cosine = dot(vector, full.together[at]);
    expect(cosine, texts[at]).toBeGreaterThanOrEqual(0.997);
    expect(cosine, texts[at]).toBeLessThan(1 - 1e-6);
  }
});
