import { expect, test } from 'vitest';

import type { Chunk } from '../../../../src/llama/chunk.ts';
import { RequestRejectedError } from '../../../../src/llama/internals/server-calls.ts';
import { type CompleteWhole, LabelScorer } from '../../../../src/engines/wllama/label-scores.ts';
import { Random } from '../../../chaos/random.ts';

const encoder = new TextEncoder();
const PIECES = [' a', 'a', 'aa', 'aaaa', ' b', 'ab', ' un', 'kind', ' the', ' same', ' yes', ' no', '10'];
/** Bytes of each token. Every byte is a token, too, so that some hold a part of a character. */
const TOKENS = [
  ...Array.from({ length: 256 }, (_, byte) => [byte]),
  ...PIECES.map((piece) => [...encoder.encode(piece)]),
];
const idOf = (piece: string): number => PIECES.indexOf(piece) + 256;

/** Divides a text into the longest tokens. */
function tokenize(text: string): number[] {
  const bytes = encoder.encode(text);
  const ids: number[] = [];
  for (let at = 0; at < bytes.length; at += TOKENS[ids.at(-1) ?? 0]?.length ?? 1) {
    let longest = bytes[at] ?? 0;
    for (const [id, token] of TOKENS.entries())
      if (token.length > (TOKENS[longest]?.length ?? 0) && token.every((byte, i) => byte === bytes[at + i]))
        longest = id;
    ids.push(longest);
  }
  return ids;
}

type Logprob = (path: readonly number[], id: number) => number;

/** Depends on all tokens before. */
const anyLogprob: Logprob = (path, id) =>
  -0.1 - 5 * new Random([...path, id].reduce((hash, each) => Math.imul(hash, 31) + each, 7)).next();

const evenly: Logprob = () => Math.log(0.5);

interface Fields {
  n_predict: number;
  logit_bias: [string | number, number][];
  verbose?: boolean;
  post_sampling_probs?: boolean;
  grammar?: string;
}

const timings = { cache_n: 3, prompt_n: 4, prompt_ms: 1, predicted_n: 1, predicted_ms: 1 };
const chunk = (content: unknown[], own = timings): Chunk[] => [
  { choices: [{ text: '', logprobs: { content: content as never } }], timings: own },
];

/** The first text that a grammar allows. */
const literalOf = (grammar = 'root ::= ""'): string =>
  (/^root ::= "((?:[^"\\]|\\.)*)"/su.exec(grammar)?.[1] ?? '').replaceAll(
    /\\(x[0-9a-f]{2}|.)/gs,
    (_, code: string) => (code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : code),
  );

/** A server with this vocabulary. */
function server(logprobOf: Logprob) {
  const reads: number[][] = [];
  const forced: number[][] = [];
  let divided = 0;
  const complete: CompleteWhole = (after, given) => {
    const { n_predict: count, logit_bias: biases = [], grammar, ...fields } = given as unknown as Fields;
    const start = tokenize(after);
    const own = { ...timings, prompt_n: timings.prompt_n + start.length };
    if (fields.verbose) {
      divided += biases.length;
      const told = biases.flatMap(([text, bias]) => tokenize(String(text)).map((token) => ({ token, bias })));
      return Promise.resolve([{ __verbose: { generation_settings: { logit_bias: told } }, timings: own }]);
    }
    const spelled = tokenize(after + literalOf(grammar)).slice(start.length);
    const isRead = fields.post_sampling_probs === true;
    const path = [...start];
    const content: unknown[] = [];
    for (const id of spelled.slice(0, isRead ? count - 1 : count)) {
      content.push({ id, token: '?', logprob: logprobOf(path, id) });
      path.push(id);
    }
    (isRead ? reads : forced).push(path);
    if (isRead) {
      const sum = biases.reduce((total, [id]) => total + Math.exp(logprobOf(path, Number(id))), 0);
      const top = biases.map(([id]) => ({
        id,
        token: '?',
        prob: Math.exp(logprobOf(path, Number(id))) / sum,
      }));
      content.push({ id: 0, token: '?', logprob: 0, top_probs: top });
    }
    return Promise.resolve(chunk(content, own));
  };
  return { complete, reads, forced, divided: () => divided };
}

const probabilities = async (logprobOf: Logprob, ...labels: string[]): Promise<number[]> => {
  const { logProbabilities } = await new LabelScorer().score(server(logprobOf).complete, labels);
  return logProbabilities.map((score) => Math.round(Math.exp(score) * 1000) / 1000);
};

/** Gives a token this probability wherever it stands; 0.5 to others. */
const sharesOf =
  (shares: Record<string, number>): Logprob =>
  (_, id) =>
    Math.log(shares[PIECES[id - 256] ?? String.fromCharCode(id)] ?? 0.5);

test('labels of one token are read in one step, in their own order', async () => {
  const { complete, reads, forced } = server(sharesOf({ ' yes': 0.6, ' no': 0.2 }));
  const { logProbabilities, ...tokens } = await new LabelScorer().score(complete, [' no', ' yes']);
  expect(logProbabilities).toEqual([expect.closeTo(Math.log(0.25)), expect.closeTo(Math.log(0.75))]);
  expect(tokens).toEqual({ promptTokens: 7, cachedTokens: 3, labelTokens: 1 + (4 + 1) });
  expect([reads, forced]).toEqual([[[]], []]);
});

test('the tokens of a label are asked for once', async () => {
  const scorer = new LabelScorer();
  const { complete, divided } = server(evenly);
  await scorer.score(complete, [' no', ' yes']);
  const first = divided();
  await scorer.score(complete, [' no', ' yes']);
  expect(divided()).toBe(first);
  await scorer.score(complete, [' no', ' a']);
  expect(divided()).toBe(first + 1);
});

test('a token that several labels have counts once', async () => {
  const shares = sharesOf({ ' un': 0.5, kind: 0.8, aa: 0.2, ' a': 0.5 });
  expect(await probabilities(shares, ' unkind', ' unaa', ' a')).toEqual([0.4, 0.1, 0.5]);
});

test('further tokens of a label count, a few of a long one, none of one among many', async () => {
  const long = ` ${'aaaab'.repeat(40)}`;
  expect(await probabilities(evenly, long, ' no')).toEqual([0.002, 0.5]);
  const many = server(evenly);
  const labels = Array.from({ length: 70 }, (_, index) => ` ${String.fromCharCode(0x11 + index)}${long}`);
  await new LabelScorer().score(many.complete, labels);
  expect([many.reads.length, many.forced.length]).toEqual([1, 0]);
});

test('labels that begin alike are read where they part, in any order', async () => {
  const shares = sharesOf({ '1': 0.3, '2': 0.1, '10': 0.6, '\n': 0.25, '0': 0.75 });
  const labels = [' 1', ' 2', ' 10', ' 100'];
  const expected = [0.3, 0.1, 0.15, 0.45];
  expect(await probabilities(shares, ...labels)).toEqual(expected);
  expect(await probabilities(shares, ...labels.toReversed())).toEqual(expected.toReversed());
});

test('what labels share is passed over', async () => {
  const { complete, reads } = server(evenly);
  await new LabelScorer().score(complete, [' the same no', ' the same yes']);
  expect(reads).toEqual([[idOf(' the'), idOf(' same')]]);
});

test('the tokens of the prompt are counted without those of a label', async () => {
  const scorer = new LabelScorer();
  const { complete } = server(evenly);
  for (let time = 0; time < 2; time++)
    expect(await scorer.score(complete, [' the same no', ' the same yes'])).toMatchObject({
      promptTokens: 7,
    });
  expect(await scorer.score(complete, [' the', ' the'])).toMatchObject({ promptTokens: 7 });
});

test('labels that part inside a character are read there', async () => {
  const [lead = 0, first = 0] = encoder.encode('Ü');
  const [, other = 0] = encoder.encode('Ö');
  const { complete, reads } = server((_, id) => Math.log(id === first ? 0.75 : id === other ? 0.25 : 0.1));
  const { logProbabilities } = await new LabelScorer().score(complete, [' Üb', ' Öb']);
  expect(reads).toEqual([[32, lead]]);
  expect(Math.exp((logProbabilities[0] ?? 0) - (logProbabilities[1] ?? 0))).toBeCloseTo(3);
});

test('a label may continue with a line end where another ends', async () => {
  const shares = sharesOf({ '\n': 0.5, b: 0.5 });
  expect(await probabilities(shares, ' a', ' a\n', ' a\nb')).toEqual([0.5, 0.25, 0.25]);
});

test('a label that is given twice has the same score twice', async () => {
  expect(await probabilities(evenly, ' yes', ' no', ' yes')).toEqual([0.5, 0.5, 0.5]);
  expect(await probabilities(evenly, ' yes', ' yes')).toEqual([1, 1]);
});

test('a token whose probability is zero has a finite score', async () => {
  const shares = sharesOf({ ' yes': 1, ' no': 0 });
  const { logProbabilities } = await new LabelScorer().score(server(shares).complete, [' yes', ' no']);
  expect(logProbabilities).toEqual([expect.closeTo(0), expect.closeTo(-100)]);
});

test('tokens other than those of the label are an error', async () => {
  const { complete } = server(evenly);
  const other: CompleteWhole = async (after, fields) =>
    fields['temperature'] === 0 ? chunk([{ id: 1, token: '?', logprob: -1 }]) : complete(after, fields);
  const scoring = new LabelScorer().score(other, [' yesaa', ' no']);
  await expect(scoring).rejects.toThrow('other than the label');
});

test('labels that part after many steps have equal shares', async () => {
  const { complete, reads } = server(anyLogprob);
  const labels = Array.from({ length: 200 }, (_, index) => ` ${'no '.repeat(index)}b`);
  const { logProbabilities } = await new LabelScorer().score(complete, labels);
  expect(reads).toHaveLength(128);
  for (const [index, score] of logProbabilities.slice(130, 198).entries())
    expect(score - (logProbabilities[index + 131] ?? 0)).toBeCloseTo(Math.log(2), 6);
});

const STARTS = ['', ' ', 'a', ' the same', 'a'.repeat(40), ' 好好', '\n', '\u{1F468}\u200D', '\u0000'];
const MARKS: readonly ((index: number) => string)[] = [
  (index) => `${index}`,
  (index) => index.toString(2),
  (index) => 'a'.repeat(index),
  (index) => ' '.repeat(index),
  (index) => 'ab\n'.repeat(index),
  (index) => String.fromCodePoint(0x1f600 + index),
  (index) => String.fromCodePoint(index),
  (index) => String.fromCodePoint(0x370 + index * 7),
  (index) => `${Math.floor(index / 2)}`,
];

test('generated labels have finite scores, in any order, after few steps', async () => {
  for (let seed = 0; seed < 100; seed++) {
    const random = new Random(seed);
    const [start, mark, end] = [random.pick(STARTS), random.pick(MARKS), random.pick(STARTS)];
    const labels = Array.from(
      { length: 2 + random.below(40) },
      (_, index) => ` ${start}${mark(index)}${end}`,
    );
    const { complete, reads, forced } = server(anyLogprob);
    const { logProbabilities } = await new LabelScorer().score(complete, labels);
    const name = `seed ${seed}`;
    expect(
      logProbabilities.every((score) => score <= 1e-9 && score >= -100 * labels.length),
      name,
    ).toBe(true);
    expect(reads.length, name).toBeLessThan(labels.length);
    expect(forced.length, name).toBeLessThanOrEqual(labels.length);
    const close = logProbabilities.map((score) => expect.closeTo(score, 9));
    const reversed = await new LabelScorer().score(server(anyLogprob).complete, labels.toReversed());
    expect(reversed.logProbabilities.toReversed(), name).toEqual(close);
  }
});

test('where the vocabulary lacks a character of the labels, they have equal shares', async () => {
  const { complete } = server(evenly);
  const lacking: CompleteWhole = (after, fields) =>
    fields['grammar'] === undefined
      ? complete(after, fields)
      : Promise.reject(new RequestRejectedError('Unexpected empty grammar stack after accepting piece: x'));
  const { logProbabilities } = await new LabelScorer().score(lacking, ['日本', '日の出']);
  expect(logProbabilities[0]).toBe(logProbabilities[1]);
});
