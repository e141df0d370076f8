import { expect, test } from 'vitest';
import type { Chunk } from '../../../../src/engines/llama-cpp/completion-format.ts';
import { scoreLabels } from '../../../../src/engines/llama-cpp/label-scores.ts';

const bytesOf = (token: string) => [...new TextEncoder().encode(token)];
const entry = (token: string, logprob: number) => ({ token, logprob, bytes: bytesOf(token) });
const timings = { cache_n: 3, prompt_n: 4, prompt_ms: 1, predicted_n: 1, predicted_ms: 1 };

/** A server whose next token is one of `top`, and that says how it spells what a grammar forces. */
function server(top: Record<string, number>, spelling: Record<string, [string, number][]>) {
  const requests: Record<string, unknown>[] = [];
  const complete = async (fields: Record<string, unknown>): Promise<Chunk[]> => {
    requests.push(fields);
    const { grammar } = fields;
    const content =
      typeof grammar === 'string'
        ? (spelling[grammar] ?? []).map(([token, logprob]) => entry(token, logprob))
        : [{ ...entry('x', -9), top_logprobs: Object.entries(top).map(([t, p]) => entry(t, p)) }];
    return [{ choices: [{ text: '', logprobs: { content } }], timings }];
  };
  return { complete, requests };
}

test('labels of one token are read in one step', async () => {
  const { complete, requests } = server({ yes: -1, no: -2 }, {});
  const scores = await scoreLabels(complete, 'p', ['no', 'yes']);
  expect(scores).toEqual({ logProbabilities: [-2, -1], promptTokens: 7, cachedTokens: 3 });
  expect(requests).toHaveLength(1);
});

test('all tokens of a longer label count, and those that end the reply do not', async () => {
  const { complete } = server(
    { re: -0.1 },
    {
      'root ::= "refund"': [
        ['re', -1],
        ['fund', -0.5],
        ['', -4],
      ],
    },
  );
  expect((await scoreLabels(complete, 'p', ['refund'])).logProbabilities).toEqual([-1.5]);
});

test('a label is escaped in the grammar', async () => {
  const grammar = String.raw`root ::= "a\"\\\x0ab"`;
  const { complete } = server({}, { [grammar]: [['a"\\\nb', -3]] });
  expect((await scoreLabels(complete, 'p', ['a"\\\nb'])).logProbabilities).toEqual([-3]);
});

test('what is not the label is an error', async () => {
  const { complete } = server({}, { 'root ::= "ab"': [['a', -3]] });
  await expect(scoreLabels(complete, 'p', ['ab'])).rejects.toThrow('other than the label');
});
