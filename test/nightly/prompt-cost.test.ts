import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';

/** Cost of prompts on a model of two layers, whose own time does not hide that of a tokenizer or a grammar. */

/** Limit beyond the time that a prompt's tokens take. */
const MAX_MORE_MS = 2000;
/**
 * Allowed factor of a measured speed: for other work on the machine, and longer prompts than the measured one, whose
 * tokens attend to more. Two references of each prompt's length beside it would allow less, and take three times as
 * long.
 */
const SPREAD = 2;

let site: AlteredSite;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html#options=${options}`));
  await page.evaluate(async () => void (await (await window.localtext).ready('amber-phoenix-4')));
});
afterAll(async () => {
  await context.close();
  await site.stop();
});

interface Cost {
  status: number;
  /** Tokens of the prompt that were computed. */
  tokens: number;
  /** Time until the whole answer. */
  ms: number;
  text: string;
}

const ask = (body: object): Promise<Cost> =>
  page.evaluate(
    async ([apiKey, request]) => {
      const began = performance.now();
      const response = await fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model: 'amber-phoenix-4', max_tokens: 2, temperature: 0, ...request }),
      });
      const answer = (await response.json()) as {
        choices?: { message: { content: string | null } }[];
        usage?: { prompt_tokens: number; prompt_tokens_details?: { cached_tokens?: number } };
      };
      const { prompt_tokens = 0, prompt_tokens_details = {} } = answer.usage ?? {};
      return {
        status: response.status,
        tokens: prompt_tokens - (prompt_tokens_details.cached_tokens ?? 0),
        ms: performance.now() - began,
        text: answer.choices?.[0]?.message.content ?? '',
      };
    },
    [key, body] as const,
  );

const say = (content: string): object => ({ messages: [{ role: 'user', content }] });
const withTool = (description: string, parameters: object): object => ({
  ...say('hi'),
  tools: [{ type: 'function', function: { name: 'f', description, parameters } }],
});
const object = (properties: object, more: object = {}): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
});
const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `value number ${at}`);
const definitions = object(
  Object.fromEntries(names(26).map((name, at) => [name, { $ref: `#/$defs/d${at}` }])),
  {
    $defs: Object.fromEntries(
      names(26).map((name, at) => [`d${at}`, object({ [name]: { type: 'string' } })]),
    ),
  },
);
const format = (schema: object): object => ({
  ...say('hi'),
  response_format: { type: 'json_schema', json_schema: { name: 'r', schema } },
});

/** Requests of up to 32 KB. */
const HOSTILE: Record<string, object> = {
  'one letter': say('a'.repeat(5000)),
  'white space': say(' '.repeat(5000)),
  'line ends': say('\n'.repeat(1000)),
  'characters outside the BMP': say('🧮'.repeat(200)),
  'marks that combine': say('e\u0301'.repeat(300)),
  'a tool that is described by one letter': withTool('a'.repeat(5000), object({ a: { type: 'string' } })),
  'a tool with 256 values': withTool('x', object({ v: { enum: names(256) } })),
  'a tool with 26 definitions': withTool('x', definitions),
  'a format with 256 values': format(object({ v: { enum: names(256) } })),
  'a format with 26 definitions': format(definitions),
  'four stop sequences': { ...say('hi'), stop: ['a', 'b', 'c', 'd'] },
};

test(
  'a request of up to 32 KB takes what its tokens take, and two seconds at most besides',
  { timeout: 900_000 },
  async () => {
    await ask(say('hi'));
    const plain = await ask(say(Array.from({ length: 300 }, (_, at) => `word${at % 100}`).join(' ')));
    const msPerToken = plain.ms / plain.tokens;
    const costs: Record<string, Cost & { allowedMs: number }> = {};
    for (const [name, body] of Object.entries(HOSTILE)) {
      const cost = await ask(body);
      console.log(`${name}: ${cost.status}, ${cost.tokens} tokens, ${Math.round(cost.ms)} ms`);
      costs[name] = { ...cost, allowedMs: cost.tokens * msPerToken * SPREAD + MAX_MORE_MS };
    }
    const shown = Object.entries(costs).map(
      ([name, { status, tokens, ms, allowedMs }]) =>
        `${name}: ${status}, ${tokens} tokens, ${Math.round(ms)} of ${Math.round(allowedMs)} ms`,
    );
    console.log(`${plain.tokens} tokens of words: ${Math.round(plain.ms)} ms\n${shown.join('\n')}`);
    for (const [name, { status, ms, allowedMs }] of Object.entries(costs)) {
      expect([200, 400], name).toContain(status);
      expect(ms, name).toBeLessThan(allowedMs);
    }
  },
);
