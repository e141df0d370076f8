import { expect, test } from 'vitest';
import type { DecisionQuestion } from '../../../../src/jobs/decision.ts';
import { decideBySimilarity } from '../../../../src/models/decisions/similarity-decisions.ts';
import { fakeEmbedder } from '../../../support/fake-embedder.ts';

const options = [{ label: 'near', description: 'nearby' }, { label: 'far' }];
const questions: DecisionQuestion[] = [
  { type: 'choice', instructions: 'Which?', options },
  { type: 'score', instructions: 'How near?', options },
  { type: 'predicate', instructions: 'It is near.', options: [] },
  { type: 'predicate', instructions: 'It is far.', options: [] },
];

/** Texts about what is far have the opposite of what is near; others have nothing to do with either. */
const vectorsOf = (given: string[][]) =>
  fakeEmbedder(given, (text) => {
    if (/here|near|close/.test(text)) return Float32Array.of(1, 0);
    return text.includes('far') ? Float32Array.of(-1, 0) : Float32Array.of(0, 1);
  });

test('each question has the probabilities of the texts that belong to it', async () => {
  const given: string[][] = [];
  const engine = vectorsOf(given);
  const ask = () =>
    decideBySimilarity(
      engine,
      { kind: 'decision', model: 'm', input: { text: 'here' }, questions },
      new AbortController().signal,
    );
  const { answers, promptTokens } = await ask();
  // Texts that are not of the request are embedded once, and not counted.
  expect(given[1]).toEqual(['here', 'near', 'nearby', 'far', 'nearby', 'far', 'It is near.', 'It is far.']);
  expect(promptTokens).toBe(8);
  const [choice, score, near, far] = answers;
  for (const each of [choice, score]) {
    expect(each?.[0]).toBeGreaterThan(0.9);
    expect((each?.[0] ?? 0) + (each?.[1] ?? 0)).toBeCloseTo(1, 6);
  }
  expect(near).toEqual([expect.closeTo(1, 3)]);
  expect(far).toEqual([expect.closeTo(0, 3)]);
  await ask();
  expect(given).toHaveLength(3);
});
