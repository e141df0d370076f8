import type { Page } from 'playwright';

import { treeCpuMs } from '../../../test/support/process-memory.ts';
import { answersOf, callsIn, withQualityPage } from './quality-page.ts';
import { cities, moods, openQuestions, questions } from './questions.ts';

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
  const totals = [questions.length, moods.length, cities.length];
  const [ofQuestions, ofMoods, ofCities] = totals;
  await withQualityPage(
    [SMALLEST, ...models],
    (variants) => ({
      ownedBy: 'quality',
      models: variants.map((variant) => ({
        id: variant.name,
        kind: 'chat',
        created: 0,
        variants: [variant],
      })),
    }),
    async (page, catalog) => {
      console.log(
        `| weights | MB | right of ${ofQuestions} questions | of ${ofMoods} with a schema | of ${ofCities} with a tool | prefill | decode |`,
      );
      console.log('| --- | --- | --- | --- | --- | --- | --- |');
      for (const { id, variants } of catalog.models) {
        const bytes = variants.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0);
        const row = [
          id,
          (bytes / 1e6).toFixed(0),
          ...(await rightOf(page, id)),
          ...(await speedOf(page, id)),
        ];
        console.log(`| ${row.join(' | ')} |`);
      }
    },
  );
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

/** Texts of greedy answers, or the arguments of their calls. */
async function ask(
  page: Page,
  model: string,
  contents: readonly string[],
  more: object = {},
): Promise<string[]> {
  const bodies = contents.map((content) => ({
    messages: [{ role: 'user' as const, content }],
    max_tokens: 24,
    ...more,
  }));
  const answers = await answersOf(page, model, bodies);
  return answers.map((answer) => callsIn(answer)[0]?.arguments ?? answer.choices[0]?.message.content ?? '');
}

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
  const body = { messages: [{ role: 'user' as const, content }], max_tokens: maxTokens };
  const [{ usage } = {}] = await answersOf(page, model, [body]);
  const seconds = ((await treeCpuMs(process.pid)) - began) / 1000;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return { seconds, prompt: (usage?.prompt_tokens ?? 0) - cached, completion: usage?.completion_tokens ?? 0 };
}
