import { expect, test } from 'vitest';
import type { Chunk } from '../../../../src/engines/llama-cpp/completion-format.ts';
import { scoreLabels } from '../../../../src/engines/llama-cpp/label-scores.ts';

const encoder = new TextEncoder();
const timings = { cache_n: 3, prompt_n: 4, prompt_ms: 1, predicted_n: 1, predicted_ms: 1 };

/** Tokens as bytes: some hold a part of a character. */
type Token = [bytes: string | number[], logprob: number];
const bytesOf = (token: Token[0]): number[] =>
  typeof token === 'string' ? [...encoder.encode(token)] : token;

/** A server with the likeliest tokens after each text, and that says how it spells what a grammar forces after a text. */
function server(top: Token[] | Record<string, Token[]>, spelling: Record<string, Token[]> = {}) {
  const requests: { after: string; fields: Record<string, unknown> }[] = [];
  const tops: Record<string, Token[]> = Array.isArray(top) ? { '': top } : top;
  const complete = async (after: string, fields: Record<string, unknown>): Promise<Chunk[]> => {
    requests.push({ after, fields });
    const forced = spelling[`${after}|${String(fields['grammar'])}`] ?? [];
    const content = fields['grammar']
      ? forced.map(([token, logprob]) => ({ token: '?', bytes: bytesOf(token), logprob }))
      : [
          {
            token: 'x',
            logprob: 0,
            top_probs: (tops[after] ?? []).map(([token, p]) => ({
              token: '?',
              bytes: bytesOf(token),
              prob: Math.exp(p),
            })),
          },
        ];
    const most = Number(fields['n_predict']);
    return [{ choices: [{ text: '', logprobs: { content: content.slice(0, most) } }], timings }];
  };
  return { complete, requests };
}

/** Probabilities of the labels. */
const scored = async (complete: Parameters<typeof scoreLabels>[0], ...labels: string[]) =>
  (await scoreLabels(complete, labels)).logProbabilities.map(
    (score) => Math.round(Math.exp(score) * 1000) / 1000,
  );
const part = (share: number): number => Math.log(share);

test('labels of one token are read in one step, in their own order', async () => {
  const { complete, requests } = server([
    [' yes', part(0.6)],
    [' no', part(0.2)],
  ]);
  const { logProbabilities, ...tokens } = await scoreLabels(complete, [' no', ' yes']);
  expect(logProbabilities).toEqual([expect.closeTo(part(0.25)), expect.closeTo(part(0.75))]);
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

test('further tokens of a label count, a few of a long one, none of one among many', async () => {
  const text = ' no nonono';
  const forced = Object.fromEntries(
    Array.from({ length: 248 }, (_, at) => {
      const [before, rest] = ['a'.repeat(at + 2), 'a'.repeat(248 - at)];
      return [` ${before}|root ::= "${rest}"`, [['a', part(0.5)]] as Token[]];
    }),
  );
  const tops: Token[] = [
    [' aa', part(0.5)],
    [text, part(0.5)],
  ];
  const { complete, requests } = server(tops, forced);
  expect(await scored(complete, ` ${'a'.repeat(250)}`, text)).toEqual([0.002, 0.5]);
  expect(requests).toHaveLength(9);
  const others = Array.from({ length: 70 }, (_, index): Token => [` b${index}x`, part(0.5)]);
  const many = server([...tops, ...others], forced);
  await scored(many.complete, ` ${'a'.repeat(250)}`, ...others.map(([token]) => String(token)));
  expect(many.requests).toHaveLength(1);
});

test('labels that begin alike are read together, in any order', async () => {
  const tops = {
    '': [[' ', 0]] as Token[],
    ' ': [
      ['1', part(0.5)],
      ['2', part(0.5)],
    ] as Token[],
    ' 1': [
      ['\n', part(0.2)],
      ['0', part(0.6)],
      ['1', part(0.2)],
    ] as Token[],
    ' 10': [
      ['\n', part(0.5)],
      ['0', part(0.5)],
    ] as Token[],
  };
  const { complete, requests } = server(tops);
  const labels = [' 1', ' 2', ' 10', ' 11', ' 100'];
  const shares = [0.1, 0.5, 0.15, 0.1, 0.15];
  expect(await scored(complete, ...labels)).toEqual(shares);
  expect(requests.map(({ after }) => after)).toEqual(['', ' ', ' 1', ' 10']);
  expect(await scored(complete, ...labels.toReversed())).toEqual(shares.toReversed());
});

test('what labels share is passed over, up to the word in which they part', async () => {
  const same = ' the very same words';
  const { complete, requests } = server({
    '': [[' the', 0]],
    [same]: [
      [' begin', part(0.9)],
      [' best', part(0.1)],
    ],
  });
  expect(await scored(complete, `${same} begin`, `${same} best`)).toEqual([0.9, 0.1]);
  expect(requests.map(({ after }) => after)).toEqual(['', same]);
});

test('a long word that labels share is passed over, too', async () => {
  const same = ` ${'a'.repeat(254)}`;
  const { complete, requests } = server({
    '': [[' aa', 0]],
    [same]: [
      ['b', part(0.9)],
      ['\n', part(0.1)],
    ],
  });
  expect(await scored(complete, `${same}b`, same)).toEqual([0.9, 0.1]);
  expect(requests).toHaveLength(2);
});

test('a label may continue with a line end where another ends', async () => {
  const atEnd: Token[] = [
    ['\n', part(0.5)],
    ['b', part(0.5)],
  ];
  const { complete } = server({ '': [['a', 0]], a: [['\n', 0]], 'a\n': atEnd });
  expect(await scored(complete, 'a', 'a\n', 'a\nb')).toEqual([0.5, 0.25, 0.25]);
});

test('labels that part inside a character are forced, up to where they differ', async () => {
  const [first = 0, second = 0] = bytesOf('Ü');
  const [, other = 0] = bytesOf('Ö');
  const { complete } = server([[[32, first], 0]], {
    ' |root ::= "Üb"': [
      [[first], -7],
      [[second], part(0.3)],
    ],
    ' |root ::= "Öb"': [
      [[first], -7],
      [[other], part(0.1)],
    ],
  });
  expect(await scored(complete, ' Üb', ' Öb')).toEqual([0.75, 0.25]);
});

test('where the first token of a label is unknown, all labels are forced', async () => {
  const { complete } = server([['b', -1]], {
    '|root ::= "ab"': [['a', part(0.2)]],
    '|root ::= "b"': [['b', part(0.6)]],
  });
  expect(await scored(complete, 'ab', 'b')).toEqual([0.25, 0.75]);
});

test('a token whose probability is zero has a finite score', async () => {
  const { complete } = server([
    [' yes', -1],
    [' no', -Infinity],
  ]);
  const { logProbabilities } = await scoreLabels(complete, [' yes', ' no']);
  expect(logProbabilities).toEqual([expect.closeTo(0), expect.closeTo(-99)]);
});

test('a label is escaped in the grammar', async () => {
  const grammar = String.raw`root ::= "a\"\\\x0ab"`;
  const { complete } = server([], { [`|${grammar}`]: [['a"\\\nb', -3]], '|root ::= "c"': [['c', -3]] });
  expect(await scored(complete, 'a"\\\nb', 'c')).toEqual([0.5, 0.5]);
});

test.each([[[]], [[['abc', -1]]]] as Token[][][])('what is not the label is an error', async (forced) => {
  const { complete } = server([], { '|root ::= "ab"': forced });
  await expect(scoreLabels(complete, ['ab'])).rejects.toThrow('other than the label');
});
