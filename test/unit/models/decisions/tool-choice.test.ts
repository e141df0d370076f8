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

const FORECAST = { label: 'getForecast', description: 'The weather of a city.' };

const jobOf = (
  text: string,
  instructions = '',
  options = [FORECAST, { label: 'read_clock' }],
): DecisionJob => ({
  kind: 'decision',
  model: 'm',
  input: { text },
  questions: [{ type: 'tool', instructions, options }],
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

test('a full cache of vectors loses none of the tools of a request', async () => {
  const engine = vectorsOf([]);
  const others = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => ({ label: `${name} ${index}` }));
  let answer;
  for (const options of [others(400, 'send'), others(120, 'draw'), others(1, 'read')])
    ({ answer } = await chooseTool(
      engine,
      jobOf('Will it rain?', '', [FORECAST, ...options]),
      new AbortController().signal,
    ));
  expect(answer?.map((each) => Math.round(each))).toEqual([1, 0, 0]);
});
