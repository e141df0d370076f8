import { expect, test } from 'vitest';
import type { Chunk } from '../../../../src/engines/llama-cpp/completion-format.ts';
import { scoreLabels } from '../../../../src/engines/llama-cpp/label-scores.ts';

const encoder = new TextEncoder();
const timings = { cache_n: 3, prompt_n: 4, prompt_ms: 1, predicted_n: 1, predicted_ms: 1 };

/** Tokens as bytes: some hold a part of a character. */
type Token = [bytes: string | number[], logprob: number];
const bytesOf = (token: Token[0]): number[] =>
  typeof token === 'string' ? [...encoder.encode(token)] : token;

/** A server whose next token is one of `top`, and that says how it spells what a grammar forces after a text. */
function server(top: Token[], spelling: Record<string, Token[]> = {}) {
  const requests: { after: string; fields: Record<string, unknown> }[] = [];
  const complete = async (after: string, fields: Record<string, unknown>): Promise<Chunk[]> => {
    requests.push({ after, fields });
    const forced = spelling[`${after}|${String(fields['grammar'])}`] ?? [];
    const content = fields['grammar']
      ? forced.map(([token, logprob]) => ({ token: '?', bytes: bytesOf(token), logprob }))
      : [
          {
            token: 'x',
            logprob: 0,
            top_probs: top.map(([token, p]) => ({ token: '?', bytes: bytesOf(token), prob: Math.exp(p) })),
          },
        ];
    const most = Number(fields['n_predict']);
    return [{ choices: [{ text: '', logprobs: { content: content.slice(0, most) } }], timings }];
  };
  return { complete, requests };
}

const scored = async (complete: Parameters<typeof scoreLabels>[0], ...labels: string[]) =>
  (await scoreLabels(complete, labels)).logProbabilities.map((score) => Math.round(score * 100) / 100);

test('labels of one token are read in one step, in their own order', async () => {
  const { complete, requests } = server([
    [' yes', -1],
    [' no', -2],
  ]);
  const { logProbabilities, ...tokens } = await scoreLabels(complete, [' no', ' yes']);
  expect(logProbabilities).toEqual([expect.closeTo(-2), expect.closeTo(-1)]);
  expect(tokens).toEqual({ promptTokens: 7, cachedTokens: 3 });
  expect(requests).toHaveLength(1);
  expect(requests[0]?.fields).toMatchObject({
    n_predict: 1,
    logit_bias: [
      [' no', 100],
      [' yes', 100],
    ],
  });
});

test('all tokens of a longer label count, each after the ones before it', async () => {
  const { complete, requests } = server(
    [
      [' re', -1],
      [' no', -2],
      [' ', -3],
    ],
    {
      ' re|root ::= "fund me"': [['fund', -0.5]],
      ' refund|root ::= " me"': [
        [' me', -0.25],
        ['', -9],
      ],
    },
  );
  expect(await scored(complete, ' refund me', ' no')).toEqual([-1.75, -2]);
  expect(requests.slice(1).map(({ fields }) => fields['logit_bias'])).toEqual([
    [['fund', 100]],
    [[' me', 100]],
  ]);
});

test('a token may end inside a character', async () => {
  const [first = 0, ...others] = bytesOf('Ü');
  const { complete } = server([[[32, first], -1]], {
    ' |root ::= "Üb"': [
      [[first], -7],
      [[...others, 98], -0.5],
    ],
  });
  expect(await scored(complete, ' Üb')).toEqual([-1.5]);
});

test('where the first token of a label is unknown, all tokens of all labels are forced', async () => {
  const { complete } = server([['b', -1]], {
    '|root ::= "ab"': [['ab', -3]],
    '|root ::= "b"': [['b', -2]],
  });
  expect(await scored(complete, 'ab', 'b')).toEqual([-3, -2]);
});

test('a token whose probability is zero has a finite score', async () => {
  const { complete } = server([
    [' yes', -1],
    [' no', -Infinity],
  ]);
  expect(await scored(complete, ' yes', ' no')).toEqual([-1, -100]);
});

test('a label is escaped in the grammar', async () => {
  const grammar = String.raw`root ::= "a\"\\\x0ab"`;
  const { complete } = server([], { [`|${grammar}`]: [['a"\\\nb', -3]] });
  expect(await scored(complete, 'a"\\\nb')).toEqual([-3]);
});

test.each([[[]], [[['abc', -1]]]] as Token[][][])('what is not the label is an error', async (forced) => {
  const { complete } = server([], { '|root ::= "ab"': forced });
  await expect(scoreLabels(complete, ['ab'])).rejects.toThrow('other than the label');
});
