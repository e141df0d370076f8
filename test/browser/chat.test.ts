import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';

/** Chat on real weights, asked for by the OpenAI client in the page, through the real service worker. */

const siteUrl = inject('siteUrl');
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  context = await launchWithWeights();
  ({ page, key } = await openPage(context, siteUrl));
  await page.evaluate(async () => (await window.localtext).ready('amber-phoenix-4'));
});

interface Parameters {
  model?: string;
  max_tokens?: number;
  stop?: string | string[];
  seed?: number;
  n?: number;
  temperature?: number;
}

interface Outcome {
  /** Text of each choice. */
  texts: string[];
  finishReasons: (string | null)[];
  /** Tokens of the prompt, of the completion, and together. */
  counts: (number | undefined)[];
}

const QUESTION = 'Write two sentences about the sea.';

/** Temperature 0 unless it is given. */
async function ask(parameters: Parameters = {}, content = QUESTION): Promise<Outcome> {
  return page.evaluate(
    async ([apiKey, body, question]) => {
      const reply = await window.client(apiKey).chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: question }],
        temperature: 0,
        ...body,
      });
      return {
        texts: reply.choices.map(({ message }) => message.content ?? ''),
        finishReasons: reply.choices.map(({ finish_reason }) => finish_reason),
        counts: [reply.usage?.prompt_tokens, reply.usage?.completion_tokens, reply.usage?.total_tokens],
      };
    },
    [key, parameters, content] as const,
  );
}

async function askStreamed(parameters: Parameters = {}): Promise<Outcome & { deltas: number; ids: number }> {
  return page.evaluate(
    async ([apiKey, body, question]) => {
      const stream = await window.client(apiKey).chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: question }],
        temperature: 0,
        stream: true,
        stream_options: { include_usage: true },
        ...body,
      });
      const texts: string[] = [];
      const finishReasons: (string | null)[] = [];
      const ids = new Set<string>();
      let usage;
      let deltas = 0;
      for await (const chunk of stream) {
        ids.add(chunk.id);
        usage = chunk.usage ?? usage;
        for (const { index, delta, finish_reason } of chunk.choices) {
          texts[index] = (texts[index] ?? '') + (delta.content ?? '');
          if (delta.content) deltas++;
          finishReasons[index] = finish_reason;
        }
      }
      const counts = [usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens];
      return { texts, finishReasons, counts, deltas, ids: ids.size };
    },
    [key, parameters, QUESTION] as const,
  );
}

test('without parameters, the variant’s own sampling keeps improbable tokens out', async () => {
  const [sampling, texts] = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const model = await client.models.retrieve('amber-phoenix-4');
    const say = async (seed: number) => {
      const messages = [{ role: 'user' as const, content: 'How are you today?' }];
      const body = { model: model.id, messages, seed, max_completion_tokens: 24 };
      return (await client.chat.completions.create(body)).choices[0]?.message.content ?? '';
    };
    const replies: string[] = [];
    for (const seed of [1, 1, 2, 3]) replies.push(await say(seed));
    const { localtext } = model as unknown as { localtext: { sampling: unknown } };
    return [localtext.sampling, replies] as const;
  }, key);
  expect(sampling).toEqual({ temperature: 1, top_p: 1, min_p: 0.2, frequency_penalty: 0.5 });
  const [first, again, ...others] = texts;
  expect(again).toBe(first);
  expect(new Set([first, ...others]).size).toBeGreaterThan(1);
  for (const text of texts) expect(text).toMatch(/^[\p{Script=Latin}\p{Script=Common}]+$/u);
});

test('a reply is the same streamed and not, and again, with exactly max_tokens tokens', async () => {
  const whole = await ask({ max_tokens: 16 });
  expect(whole.finishReasons).toEqual(['length']);
  expect(whole.counts[1]).toBe(16);
  expect(whole.texts[0]?.length).toBeGreaterThan(16);
  const streamed = await askStreamed({ max_tokens: 16 });
  expect(streamed).toMatchObject({
    texts: whole.texts,
    finishReasons: ['length'],
    counts: whole.counts,
    ids: 1,
  });
  expect(streamed.deltas).toBeGreaterThan(8);
  expect(await ask({ max_tokens: 16, seed: 7 })).toEqual(await ask({ max_tokens: 16, seed: 7 }));
});

test('a seed makes a reply repeatable at a temperature, and another seed gives another', async () => {
  // One after another, and with the prompt in the cache: what is computed together rounds otherwise.
  const withSeed = (seed: number): Promise<Outcome> => ask({ max_tokens: 16, temperature: 1, seed });
  await withSeed(0);
  const first = await withSeed(1);
  expect(await withSeed(1)).toEqual(first);
  expect((await withSeed(2)).texts).not.toEqual(first.texts);
});
