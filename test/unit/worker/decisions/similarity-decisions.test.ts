import { expect, test } from 'vitest';
import type { DecisionQuestion } from '../../../../src/jobs/decision.ts';
import { decideBySimilarity } from '../../../../src/worker/decisions/similarity-decisions.ts';
import type { Engine } from '../../../../src/worker/runtimes/engine.ts';

const questions: DecisionQuestion[] = [
  {
    type: 'choice',
    instructions: 'Which?',
    options: [{ label: 'near', description: 'close by' }, { label: 'far' }],
  },
  { type: 'predicate', instructions: 'It is near.', options: [] },
];

test('each question has the probabilities of the texts that belong to it', async () => {
  const near = Float32Array.of(1, 0);
  const far = Float32Array.of(0, 1);
  let texts: string[] = [];
  const engine: Engine<'embedding'> = {
    kind: 'embedding',
    fingerprint: 'f',
    slots: 1,
    facts: {},
    async *run({ input }) {
      texts = 'texts' in input ? input.texts : [];
      const vectors = texts.map((_, index) => (index === 2 || index === 3 ? far : near));
      const timings = { queueMs: 0, computeMs: 0 };
      yield { type: 'done', vectors, promptTokens: 9, fingerprint: 'f', timings };
    },
    unload: () => Promise.resolve(),
  };
  const { answers, promptTokens } = await decideBySimilarity(
    engine,
    { kind: 'decision', model: 'm', input: { text: 'here' }, questions },
    new AbortController().signal,
  );
  expect(texts.slice(0, 4)).toEqual(['here', 'near: close by', 'far', 'It is near.']);
  expect(promptTokens).toBe(9);
  const [choice, predicate] = answers;
  expect(choice?.[0]).toBeGreaterThan(0.9);
  expect((choice?.[0] ?? 0) + (choice?.[1] ?? 0)).toBeCloseTo(1, 6);
  expect(predicate).toHaveLength(1);
  expect(predicate?.[0]).toBeLessThan(0.1);
});
