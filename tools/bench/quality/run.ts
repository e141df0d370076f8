import type { Page } from 'playwright';

import type { Catalog, WllamaVariant } from '../../../src/catalog/catalog.ts';
import { treeCpuMs } from '../../../test/support/process-memory.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';
import { findWeights } from './find-weights.ts';
import { serveWeights, withQualityPage } from './quality-page.ts';
import { cities, moods, openQuestions, questions } from './questions.ts';

/** Folder into which `localtext pull` puts weights. */
const FOLDER = 'public/models';
const SMALLEST = 'amber-phoenix-4';
/** Runs that the speeds are the best of. */
const SPEED_RUNS = 4;
const REPLY_TOKENS = 48;
/** Questions in a prompt that the speeds are measured with: about 100 tokens. */
const PROMPT_QUESTIONS = 10;

/**
 * Prints a row for each model, the smallest of the catalog first: size, right answers at temperature 0, and speed on the CPU.
 * Linux only, for the speed.
 * @param models names or paths, as `findWeights()` takes them
 */
export async function measureQuality(models: readonly string[]): Promise<void> {
  await pullTestWeights();
  const found = await Promise.all([SMALLEST, ...models].map((name) => findWeights(name, FOLDER)));
  const served = await Promise.all(found.map(({ paths }) => Promise.all(paths.map(serveWeights))));
  const variants = found.map(({ variant }, index): WllamaVariant => {
    const files = (served[index] ?? []).map(({ file }) => file);
    return { ...variant, files };
  });
  const catalog: Catalog = {
    ownedBy: 'quality',
    models: variants.map((variant) => ({ id: variant.name, kind: 'chat', created: 0, variants: [variant] })),
  };
  const totals = [questions.length, moods.length, cities.length];
  const [ofQuestions, ofMoods, ofCities] = totals;
  try {
    await withQualityPage(catalog, async (page) => {
      console.log(
        `| weights | MB | right of ${ofQuestions} questions | of ${ofMoods} with a schema | of ${ofCities} with a tool | prefill | decode |`,
      );
      console.log('| --- | --- | --- | --- | --- | --- | --- |');
      for (const { name, files: own } of variants) {
        const megabytes = own.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
        const row = [
          name,
          megabytes.toFixed(0),
          ...(await rightOf(page, name)),
          ...(await speedOf(page, name)),
        ];
        console.log(`| ${row.join(' | ')} |`);
      }
    });
  } finally {
    for (const { close } of served.flat()) close();
  }
}

/** Counts of right answers: to plain questions, with a schema, with a tool. */
async function rightOf(page: Page, model: string): Promise<number[]> {
  const plain = await ask(
    page,
    model,
    questions.map(([question]) => question),
  );
  const schema = {
    type: 'object',
    properties: { mood: { enum: ['positive', 'negative'] } },
    required: ['mood'],
    additionalProperties: false,
  };
  const classified = await ask(
    page,
    model,
    moods.map(([text]) => `Is this review positive or negative? ${text}`),
    { response_format: { type: 'json_schema', json_schema: { name: 'mood', schema, strict: true } } },
  );
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 20 } },
    required: ['city'],
    additionalProperties: false,
  };
  const weather = { name: 'weather', description: 'The weather of a city', parameters };
  const calls = await ask(
    page,
    model,
    cities.map((city) => `What is the weather in ${city}?`),
    { tools: [{ type: 'function', function: weather }], tool_choice: 'required' },
  );
  return [
    questions.filter(([, answer], index) => answer.test(plain[index] ?? '')).length,
    moods.filter(([, mood], index) => classified[index]?.includes(mood)).length,
    cities.filter((city, index) => calls[index]?.includes(city)).length,
  ];
}

/** Greedy answers, one after another. */
const ask = (page: Page, model: string, contents: readonly string[], more: object = {}): Promise<string[]> =>
  page.evaluate(
    async ([id, texts, extra]) => {
      const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
      const { key } = await (await window.localtext).keys.ensure({ label: 'quality', limits });
      const client = window.client(key, { timeout: 600_000 });
      const answers: string[] = [];
      for (const content of texts) {
        const { choices } = await client.chat.completions.create({
          model: id,
          messages: [{ role: 'user', content }],
          temperature: 0,
          max_tokens: 24,
          ...extra,
        });
        const call = choices[0]?.message.tool_calls?.[0];
        const text = choices[0]?.message.content ?? '';
        answers.push(call && 'function' in call ? call.function.arguments : text);
      }
      return answers;
    },
    [model, contents, more] as const,
  );

/** Tokens of a new prompt, and of a reply, for each second of processor time: the machine may do other work. */
async function speedOf(page: Page, model: string): Promise<string[]> {
  const runs: { prefill: number; decode: number }[] = [];
  for (let run = 0; run < SPEED_RUNS; run++) {
    const from = run * PROMPT_QUESTIONS;
    const prompt = openQuestions.slice(from, from + PROMPT_QUESTIONS).join(' ');
    const first = await timed(page, model, prompt, 1);
    const rest = await timed(page, model, prompt, REPLY_TOKENS);
    runs.push({ prefill: first.prompt / first.seconds, decode: rest.completion / rest.seconds });
  }
  const best = (speed: 'prefill' | 'decode'): string => Math.max(...runs.map((run) => run[speed])).toFixed(0);
  return [best('prefill'), best('decode')];
}

async function timed(page: Page, model: string, content: string, maxTokens: number) {
  const began = await treeCpuMs(process.pid);
  const usage = await page.evaluate(
    async ([id, text, tokens]) => {
      const { key } = await (await window.localtext).keys.ensure({ label: 'quality' });
      const answer = await window.client(key, { timeout: 600_000 }).chat.completions.create({
        model: id,
        messages: [{ role: 'user', content: text }],
        temperature: 0,
        max_tokens: tokens,
      });
      return answer.usage;
    },
    [model, content, maxTokens] as const,
  );
  const seconds = ((await treeCpuMs(process.pid)) - began) / 1000;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return { seconds, prompt: (usage?.prompt_tokens ?? 0) - cached, completion: usage?.completion_tokens ?? 0 };
}
