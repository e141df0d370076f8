import { expect, inject, test } from 'vitest';

import { dot, embed, post } from '../support/ask-page.ts';
import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import labelled from './sentences.json' with { type: 'json' };

/** Requests at once: a key's limit is 64 by default. */
const TOGETHER = 60;

/** Texts by label and word: each sentence of the label with the word in its gap. */
const fill = (labels: Record<string, { sentences: string[]; words: string[] }>): string[][][] =>
  Object.values(labels).map(({ sentences, words }) =>
    words.map((word) => sentences.map((sentence) => sentence.replace('{}', word))),
  );
const topics = fill(labelled.topics);

/** Pairs with grades: 2 paraphrases, 1 another statement with the same word or form, 0 of different topics. */
const pairs = topics.flatMap((texts, topic) =>
  texts.flatMap(([text = '', paraphrase = '', other = ''], word): [string, string, number][] => [
    [text, paraphrase, 2],
    [text, word % 2 ? other : (texts.at(word - 1)?.[0] ?? ''), 1],
    [text, topics[(topic + 1 + (word % 9)) % 10]?.[word]?.[1] ?? '', 0],
  ]),
);

/** Texts to label: a paraphrase or another statement of each topic and word, and all opinions. */
const decisions = [
  ...topics.flatMap((texts, at) => texts.map((text, word) => ['topics', at, text[1 + (word % 2)]] as const)),
  ...fill(labelled.opinions).flatMap((texts, at) =>
    texts.flat().map((text) => ['opinions', at, text] as const),
  ),
];

/** Share of two pairs of different grades whose similarities have the same order. */
function inOrder(similarities: number[]): number {
  const graded = pairs.map(([, , grade], index) => [grade, similarities[index] ?? Number.NaN] as const);
  const orders = graded.flatMap(([grade, similarity]) =>
    graded.filter(([lower]) => lower < grade).map(([, other]) => similarity > other),
  );
  return orders.filter(Boolean).length / orders.length;
}

async function accuracyOf(prefer: string[]): Promise<{ ordered: number; right: number }> {
  const context = await launchWithWeights();
  const { page } = await openPage(context, inject('siteUrl'), { prefer });
  const key = await page.evaluate(async () => {
    const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
    return (await (await window.localtext).keys.issue({ label: 'accuracy', limits })).key;
  });
  const vectors = (side: 0 | 1): Promise<number[][]> =>
    embed(
      page,
      key,
      'jade-mole-4',
      pairs.map((pair) => pair[side]),
    );
  const [left, others] = [await vectors(0), await vectors(1)];
  const isRight = async ([set, label, input]: (typeof decisions)[number]): Promise<boolean> => {
    const choices = Object.keys(labelled[set]).map((value) => ({ value }));
    const questions = [{ type: 'choice', name: 'label', instructions: 'Which label fits?', choices }];
    const body = { model: 'jade-mole-4', input, questions };
    const { answers } = await post<{ answers: { choice: string }[] }>(page, key, 'decisions', body);
    return answers[0]?.choice === choices[label]?.value;
  };
  let right = 0;
  for (let at = 0; at < decisions.length; at += TOGETHER)
    right += (await Promise.all(decisions.slice(at, at + TOGETHER).map(isRight))).filter(Boolean).length;
  await context.close();
  return { ordered: inOrder(left.map((vector, index) => dot(vector, others[index]))), right };
}

/** Figures that docs/models.md quotes. */
test('MiniLM in 8 bits orders pairs of sentences, and labels texts, at most a point worse than in 32', async () => {
  const [float, int8] = [await accuracyOf(['all-minilm-l6-v2-f32']), await accuracyOf([])];
  console.log(`${pairs.length} pairs and ${decisions.length} decisions:`, { float, int8 });
  expect(int8.ordered).toBeGreaterThan(float.ordered - 0.01);
  expect(int8.right / decisions.length).toBeGreaterThan(float.right / decisions.length - 0.01);
}, 900_000);
