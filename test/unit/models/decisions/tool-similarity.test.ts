import { expect, test } from 'vitest';
import type { ToolChoiceJob } from '../../../../src/jobs/tool-choice.ts';
import { chooseTool } from '../../../../src/models/decisions/tool-similarity.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import { fakeEmbedder } from '../../../support/fake-embedder.ts';

/** Texts about the weather, about the time and all others have vectors of their own. */
const vectorsOf = (given: string[][]) =>
  fakeEmbedder(given, (text) => {
    if (/rain|weather/i.test(text)) return Float32Array.of(1, 0, 0);
    return /clock|time/i.test(text) ? Float32Array.of(0, 1, 0) : Float32Array.of(0, 0, 1);
  });

const jobOf = (message: string, before = ''): ToolChoiceJob => ({
  kind: 'toolChoice',
  model: 'm',
  message,
  before,
  tools: [{ name: 'getForecast', description: 'The weather of a city.' }, { name: 'read_clock' }],
});

/** Index of the tool with the highest score; that after the last: no tool. */
async function choose(engine: Engine<'embedding'>, job: ToolChoiceJob): Promise<number | undefined> {
  for await (const { scores } of chooseTool(engine, job, new AbortController().signal, () => undefined))
    return scores?.indexOf(Math.max(...scores));
}

test('a message chooses the tool that it is about, or none', async () => {
  const given: string[][] = [];
  const engine = vectorsOf(given);
  const ask = (text: string, before?: string) => choose(engine, jobOf(text, before));
  expect(await ask('Will it rain?')).toBe(0);
  expect(given[1]).toEqual(['get forecast: The weather of a city.', 'read clock: ']);
  expect(await ask('the clock, please')).toBe(1);
  expect(await ask('Hello')).toBe(2);
  expect(await ask('and tomorrow?', 'Will it rain today?')).not.toBe(1);
  const before = given.length;
  expect(await ask('')).toBe(2);
  expect(given).toHaveLength(before);
  // The tools are embedded once.
  await ask('Will it snow?');
  expect(given.at(-1)).toEqual(['Will it snow?']);
});

test.each([
  ['English, of 7 tokens', 7, 0.2, 0],
  ['another language, of 12 tokens', 12, 0.2, undefined],
  ['another language, close to a tool', 12, 0.3, 0],
])('a message in %s: chosen, or left to the model of the chat', async (_, tokens, similarity, chosen) => {
  const vectorOf = (text: string) => {
    if (text === 'vier Worte zum Wetter')
      return Float32Array.of(similarity, 0, Math.sqrt(1 - similarity ** 2));
    return /weather/.test(text) ? Float32Array.of(1, 0, 0) : Float32Array.of(0, 1, 0);
  };
  expect(await choose(fakeEmbedder([], vectorOf, tokens), jobOf('vier Worte zum Wetter'))).toBe(chosen);
});

test('a tool that is known keeps its vector when hundreds of others have filled the cache', async () => {
  const engine = vectorsOf([]);
  const job = jobOf('Will it rain?');
  const chooseAmong = (labels: string[]) => {
    const tools = labels.map((name) => ({ name }));
    return choose(engine, { ...job, tools });
  };
  await chooseAmong(['weather', ...Array.from({ length: 499 }, (_, index) => `tool${index}`)]);
  expect(await chooseAmong(['weather', 'another'])).toBe(0);
});

test('texts with one token a character fit into the context of MiniLM', async () => {
  const given: string[][] = [];
  await choose(vectorsOf(given), jobOf('天'.repeat(2000), '气'.repeat(2000)));
  expect(Math.max(...given.flat().map(({ length }) => length))).toBe(500);
});
