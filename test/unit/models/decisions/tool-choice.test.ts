import { expect, test } from 'vitest';
import type { DecisionJob } from '../../../../src/jobs/decision.ts';
import { chooseTool } from '../../../../src/models/decisions/tool-choice.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';

/** Texts about the weather, about the time and all others have vectors of their own. */
function vectorsOf(given: string[][]): Engine<'embedding'> {
  return {
    kind: 'embedding',
    fingerprint: 'f',
    slots: 1,
    facts: {},
    async *run({ input }) {
      const texts = 'texts' in input ? input.texts : [];
      given.push(texts);
      const vectors = texts.map((text) => {
        if (/rain|weather/i.test(text)) return Float32Array.of(1, 0, 0);
        return /clock|time/i.test(text) ? Float32Array.of(0, 1, 0) : Float32Array.of(0, 0, 1);
      });
      yield { type: 'done', vectors, promptTokens: texts.length, fingerprint: 'f' };
    },
    unload: () => Promise.resolve(),
  };
}

const jobOf = (text: string, instructions = ''): DecisionJob => ({
  kind: 'decision',
  model: 'm',
  input: { text },
  questions: [
    {
      type: 'tool',
      instructions,
      options: [{ label: 'getForecast', description: 'The weather of a city.' }, { label: 'read_clock' }],
    },
  ],
});

test('a message chooses the tool that it is about, or none', async () => {
  const given: string[][] = [];
  const engine = vectorsOf(given);
  const choose = async (text: string, before?: string) => {
    const { answer } = await chooseTool(engine, jobOf(text, before), new AbortController().signal);
    return answer?.map((each) => Math.round(each));
  };
  expect(await choose('Will it rain?')).toEqual([1, 0, 0]);
  expect(given[1]).toEqual(['get forecast: The weather of a city.', 'read clock: ']);
  expect(await choose('the clock, please')).toEqual([0, 1, 0]);
  expect(await choose('Hello')).toEqual([0, 0, 1]);
  expect(await choose('and tomorrow?', 'Will it rain today?')).not.toEqual([0, 1, 0]);
  const before = given.length;
  expect(await choose('')).toEqual([0, 0, 1]);
  expect(given).toHaveLength(before);
  // The tools are embedded once.
  await choose('Will it snow?');
  expect(given.at(-1)).toEqual(['Will it snow?']);
});

test('a tool that is known keeps its vector when hundreds of others have filled the cache', async () => {
  const engine = vectorsOf([]);
  const job = jobOf('Will it rain?');
  const chooseAmong = async (labels: string[]) => {
    const options = labels.map((label) => ({ label }));
    const questions = [{ type: 'tool' as const, instructions: '', options }];
    const { answer } = await chooseTool(engine, { ...job, questions }, new AbortController().signal);
    return answer?.map((each) => Math.round(each));
  };
  await chooseAmong(['weather', ...Array.from({ length: 499 }, (_, index) => `tool${index}`)]);
  expect(await chooseAmong(['weather', 'another'])).toEqual([1, 0, 0]);
});

test('texts with one token a character fit into the context of MiniLM', async () => {
  const given: string[][] = [];
  const { signal } = new AbortController();
  await chooseTool(vectorsOf(given), jobOf('天'.repeat(2000), '气'.repeat(2000)), signal);
  expect(Math.max(...given.flat().map(({ length }) => length))).toBe(500);
});
