import { expect, test } from 'vitest';

import { send } from '../support/send.ts';
import { sharedPage } from '../support/shared-page.ts';

/** Decisions on real weights. */

const tab = sharedPage();

interface Decision {
  answers: {
    type: string;
    choice?: string;
    probability?: number;
    probabilities?: { value: string; probability: number }[];
  }[];
  usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } };
}

async function decide(asked: object, page = tab.page): Promise<Decision> {
  const json = { model: 'amber-phoenix-4', ...asked };
  const { status, text, body } = await send<Decision>(page, tab.key, '/v1/decisions', json);
  if (status !== 200) throw new Error(text);
  return body;
}

const choice = (instructions: string, ...values: string[]) => ({
  type: 'choice',
  instructions,
  choices: values.map((value) => ({ value })),
});
const input = 'Die Kinder spielen im Garten hinter dem Haus.';

/** A text, and choices. */
const ORDERED: Record<string, [text: string, choices: string]> = {
  'a sentiment of 2': ['What a wonderful evening, thank you!', 'positive|negative'],
  'a department of 4': [
    'My parcel has not arrived yet.',
    'customer service|customer support|shipping|bookkeeping',
  ],
  'a tool of 8': [
    'Wake me at seven tomorrow.',
    'set_alarm|set_timer|get_weather|get_time|send_mail|send_money|play "music"|none',
  ],
  'a number of 8': ['There are eleven of us.', '1|2|10|11|12|20|21|110'],
  'a country of 20': [
    'We flew to Seoul and ate kimchi.',
    'South Korea|South Africa|South Sudan|North Korea|North Macedonia|New Zealand|Norway|Niger|Nigeria|Guinea|Guinea-Bissau|Papua New Guinea|Österreich|Öland|Österbotten|日本|日の出|🇰🇷|🇰🇪|none of these \\',
  ],
};

test.each(Object.entries(ORDERED))(
  'the order of the choices of %s changes nothing',
  async (_, [text, choices]) => {
    const values = choices.split('|');
    const half = Math.floor(values.length / 2);
    const mixed = values.toSorted((a, b) => a.length - b.length || (a < b ? 1 : -1));
    const orders = [values, values.toReversed(), [...values.slice(half), ...values.slice(0, half)], mixed];
    const questions = orders.map((order) => choice('Which of these fits the text?', ...order));
    const { answers } = await decide({ input: text, questions });
    for (const { choice: chosen, probabilities = [] } of answers) {
      expect(chosen).toBe(answers[0]?.choice);
      expect(probabilities).toHaveLength(values.length);
      for (const { value, probability } of probabilities) {
        const first = answers[0]?.probabilities?.find((each) => each.value === value);
        expect(Math.abs(probability - (first?.probability ?? -1))).toBeLessThan(0.02);
      }
    }
  },
);

test('the language of a text is the most probable choice', async () => {
  const values = ['English', 'German', 'French', 'Brazilian Portuguese', 'Klingon "x" \\ y'];
  const question = choice('In which language is this text written?', ...values);
  expect((await decide({ input, questions: [question] })).answers[0]?.choice).toBe('German');
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
