import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';

/** Decisions on real weights. */

const siteUrl = inject('siteUrl');
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  context = await launchWithWeights();
  ({ page, key } = await openPage(context, siteUrl));
});

afterAll(async () => {
  await context.close();
});

interface Decision {
  answers: {
    type: string;
    choice?: string;
    probability?: number;
    probabilities?: { value: string; probability: number }[];
  }[];
  usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } };
}

const decide = (body: Record<string, unknown>): Promise<Decision> =>
  page.evaluate(
    async ([apiKey, request]) => {
      const response = await fetch('/v1/decisions', {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'amber-phoenix-4', ...request }),
      });
      const answer = await response.json();
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer;
    },
    [key, body] as const,
  );

const choice = (...values: string[]) => ({
  type: 'choice',
  instructions: 'In which language is this text written?',
  choices: values.map((value) => ({ value })),
});
const input = 'Die Kinder spielen im Garten hinter dem Haus.';

test('the order of the choices changes no answer and no probability', async () => {
  const values = ['English', 'German', 'French', 'Brazilian Portuguese', 'Klingon "x" \\ y'];
  const orders = [values, values.toReversed(), [...values.slice(2), ...values.slice(0, 2)]];
  const { answers } = await decide({ input, questions: orders.map((order) => choice(...order)) });
  for (const { choice: chosen, probabilities = [] } of answers) {
    expect(chosen).toBe('German');
    for (const { value, probability } of probabilities) {
      const first = answers[0]?.probabilities?.find((each) => each.value === value);
      expect(Math.abs(probability - (first?.probability ?? -1))).toBeLessThan(0.02);
    }
  }
});

test('questions share the computed input, which the usage counts once', async () => {
  const ten = Array.from({ length: 10 }, (_, index) => ({
    type: 'predicate',
    instructions: `The text mentions ${index} children.`,
  }));
  const long = input.repeat(8);
  const one = await decide({ input: long, questions: ten.slice(0, 1) });
  const many = await decide({ input: long, questions: ten });
  const again = await decide({ input: long, questions: ten });
  expect(many.usage.input_tokens).toBeLessThan(5 * one.usage.input_tokens);
  expect(again.usage.input_tokens).toBe(many.usage.input_tokens);
  expect(again.usage.input_tokens_details.cached_tokens).toBeGreaterThan(0);
});

test('an embedding model compares the input with the choices', async () => {
  const questions = [
    {
      type: 'choice',
      instructions: 'What is it about?',
      choices: [
        { value: 'sports', description: 'Games, athletes, teams and matches' },
        { value: 'food', description: 'Cooking, recipes, meals and restaurants' },
      ],
    },
  ];
  const { answers } = await decide({ model: 'jade-mole-4', input: 'Fry the onions in butter.', questions });
  expect(answers[0]?.choice).toBe('food');
});
