import { expect, test } from 'vitest';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import type { DecisionEvent, DecisionJob, DecisionQuestion } from '../../../../src/jobs/decision.ts';
import { decide } from '../../../../src/models/decisions/decide.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';

const question: DecisionQuestion = {
  type: 'choice',
  instructions: 'Which?',
  options: [{ label: 'common' }, { label: 'rare' }],
};
const predicate: DecisionQuestion = { type: 'predicate', instructions: 'It is so.', options: [] };
const textOf = ({ input }: ChatJob): string =>
  'prompt' in input ? input.prompt : 'messages' in input ? (input.messages[0]?.content ?? '') : '';

/** Says `common` twice as often as `rare`, whatever is asked, and gives `gain` to `rare` where there is an input. */
function scoring(gain: number) {
  const asked: string[] = [];
  const engine: Engine<'chat'> = {
    kind: 'chat',
    fingerprint: 'f',
    slots: 1,
    traits: {},
    run: () => {
      throw new Error('nothing is generated');
    },
    async score(job, labels) {
      const hasInput = textOf(job).startsWith('input');
      asked.push(textOf(job));
      const logProbabilities = labels.map((label) =>
        label === ' rare' ? Math.log(1 / 3) + (hasInput ? gain : 0) : Math.log(2 / 3),
      );
      return { logProbabilities, promptTokens: hasInput ? 10 : 6, cachedTokens: 2, labelTokens: 5 };
    },
    unload: () => Promise.resolve(),
  };
  return { asked, engine };
}

async function ask(engine: Engine<'chat'>, questions: DecisionQuestion[], more: Partial<DecisionJob> = {}) {
  const events: DecisionEvent[] = [];
  const job: DecisionJob = { kind: 'decision', model: 'm', input: { text: 'input' }, questions, ...more };
  for await (const event of decide(engine, job, new AbortController().signal, () => undefined))
    events.push(event);
  const { progress } = events.at(-1) as DecisionEvent;
  return { ...progress, types: events.map(({ type }) => type) };
}

test('a label is measured against its probability without the input', async () => {
  const even = await ask(scoring(0).engine, [question]);
  expect(even.answers[0]?.[0]).toBeCloseTo(0.5, 6);
  const { answers } = await ask(scoring(Math.log(3)).engine, [question]);
  expect(answers[0]?.[1]).toBeGreaterThan(0.5);
});

test('the probability without the input is computed once for a question', async () => {
  const { engine, asked } = scoring(0);
  await ask(engine, [question]);
  await ask(engine, [question]);
  expect(asked.map((text) => text.startsWith('input'))).toEqual([false, true, true]);
});

test('of many questions, the first are answered before the last are scored without the input', async () => {
  const { engine, asked } = scoring(0);
  const many = Array.from({ length: 70 }, (_, index) => ({ ...question, instructions: `Which ${index}?` }));
  const { answers } = await ask(engine, many);
  expect(answers).toHaveLength(70);
  const kinds = asked.map((text) => (text.startsWith('input') ? 'i' : '-')).join('');
  expect(kinds).toBe([32, 32, 6].map((count) => '-'.repeat(count) + 'i'.repeat(count)).join(''));
});

test('the input stands before the question, and no label stands in the prompt', async () => {
  const { engine, asked } = scoring(0);
  await ask(engine, [question]);
  expect(asked[1]).toBe('input\n\nQuestion: Which?\nAnswer:');
});

test('a predicate is asked as a question, and has the probability of true alone', async () => {
  const { engine, asked } = scoring(0);
  expect((await ask(engine, [predicate])).answers[0]).toHaveLength(1);
  expect(asked[1]).toBe('input\n\nQuestion: It is so?\nAnswer (yes or no):');
});

// Quadratic in the marks, it would take minutes.
test('a predicate of a million marks is asked at once', async () => {
  const { engine, asked } = scoring(0);
  await ask(engine, [{ ...predicate, instructions: `${'!'.repeat(1_000_000)}x?!.` }]);
  expect(asked[1]?.endsWith('!x?\nAnswer (yes or no):')).toBe(true);
});

test('an image goes through the chat template', async () => {
  const jobs: ChatJob[] = [];
  const { engine } = scoring(0);
  const score: NonNullable<typeof engine.score> = async (job, labels) => {
    jobs.push(job);
    return { logProbabilities: labels.map(() => 0), promptTokens: 1, cachedTokens: 0, labelTokens: 0 };
  };
  const images = [{ at: 5, url: 'data:image/png;base64,AAAA', param: 'input[0].content[0]' }];
  await ask({ ...engine, score }, [question], { input: { text: 'input', images } });
  expect(jobs[1]).toMatchObject({
    input: { messages: [{ role: 'user', content: 'input\n\nQuestion: Which?', images }] },
    resume: { text: 'Answer:' },
  });
});

test('the input is counted once, and each question tells that it is answered', async () => {
  const asked = await ask(scoring(0).engine, [question, predicate, predicate]);
  expect(asked).toMatchObject({ promptTokens: 10 + 6 + 6, cachedTokens: 2 });
  // The labels of three questions, and two questions without the input: the third is known.
  expect(asked.labelTokens).toBe(3 * 5 + 2 * (6 - 2 + 5));
  expect(asked.types).toEqual(['delta', 'delta', 'delta', 'done']);
});

test('continues with the first question that has no answer', async () => {
  const { engine, asked } = scoring(0);
  const progress = { answers: [[0.9, 0.1]], promptTokens: 10, cachedTokens: 0, labelTokens: 0 };
  const { answers, promptTokens } = await ask(engine, [question, predicate], { progress });
  expect(answers).toEqual([[0.9, 0.1], [expect.any(Number)]]);
  expect(promptTokens).toBe(16);
  expect(asked.some((text) => text.includes('Which?'))).toBe(false);
});

test('an engine that cannot score leaves the job to the next variant', async () => {
  const { engine } = scoring(0);
  const { score: _score, ...mute } = engine;
  await expect(ask(mute, [question])).rejects.toMatchObject({ wire: { passOn: true } });
});
