import type { Chunk } from '../../../../src/llama/chunk.ts';
import { expect, test } from 'vitest';

import {
  completionRequest,
  LlamaReplyReader,
  tokenIds,
  tokensRequest,
} from '../../../../src/engines/wllama/completion-format.ts';

const completion = { prompt: 'Once' };
const sampling = { temperature: 1, topP: 1 };

test('a variant without settings gets nothing beyond OpenAI’s parameters, and numbers in 32 bits', () => {
  expect(completionRequest({ ...completion, maxTokens: 2 ** 32 + 1 }, sampling, {})).toMatchObject({
    n_predict: 2 ** 31 - 1,
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repeat_penalty: 1,
  });
});

test('control tokens are written where the reply’s text is to have them', () => {
  const shown = completionRequest({ ...completion, shownTokens: ['[THINK]'] }, sampling, {});
  expect(shown).toMatchObject({ preserved_tokens: ['[THINK]'] });
  expect(completionRequest(completion, sampling, {})).not.toHaveProperty('preserved_tokens');
});

test('a variant’s settings reach llama.cpp, before the temperature', () => {
  const request = completionRequest(completion, sampling, { topK: 20, minP: 0.2, repeatPenalty: 1.1 });
  expect(request).toMatchObject({ top_k: 20, min_p: 0.2, repeat_penalty: 1.1 });
  expect(request['samplers']).toEqual(['penalties', 'top_k', 'min_p', 'temperature', 'top_p']);
});

test('the variant’s frequency penalty is for sampled free text, and gives way to the request’s own', () => {
  const own = { frequencyPenalty: 0.5 };
  expect(completionRequest(completion, sampling, own)).toMatchObject({ frequency_penalty: 0.5 });
  const asked = completionRequest(completion, { ...sampling, frequencyPenalty: 0 }, own);
  expect(asked).toMatchObject({ frequency_penalty: 0 });
  const constrained = { ...completion, constraint: { kind: 'grammar' as const, gbnf: 'root ::= "a"' } };
  expect(completionRequest(constrained, sampling, own)).toMatchObject({ frequency_penalty: 0 });
  const greedy = { ...sampling, temperature: 0 };
  expect(completionRequest(completion, greedy, own)).toMatchObject({ frequency_penalty: 0 });
  const penalized = completionRequest(completion, { ...greedy, frequencyPenalty: 0.3 }, own);
  expect(penalized).toMatchObject({ frequency_penalty: 0.3 });
});

test('the tokens of a text are those of a bias on it, in its order', () => {
  expect(tokensRequest(['to be, to', 'a'])).toMatchObject({
    logit_bias: [
      ['to be, to', 0],
      ['a', 1],
    ],
    verbose: true,
  });
  const biases = [7, 3, 7, 9].map((token) => ({ bias: token === 9 ? 1 : 0, token }));
  expect(tokenIds({ __verbose: { generation_settings: { logit_bias: biases } } })).toEqual([[7, 3, 7], [9]]);
  expect(tokenIds({ choices: [] })).toEqual([]);
});

const timings = (tokens: number) => ({
  cache_n: 0,
  prompt_n: 3,
  prompt_ms: 1,
  predicted_n: tokens,
  predicted_ms: 1,
});
const chunk = (text: string, tokens: number): Chunk => ({ choices: [{ text }], timings: timings(tokens) });

test('an attempt that begins again tells only what is new', () => {
  const reader = new LlamaReplyReader(undefined, 'f');
  const told = (...chunks: Chunk[]) =>
    chunks
      .flatMap((each) => [...reader.read(each)])
      .flatMap((event) => (event.type === 'delta' ? [[event.delta.text, event.delta.tokens]] : []));
  expect(told(chunk('{"a', 1), chunk('":', 2))).toEqual([
    ['{"a', 1],
    ['":', 1],
  ]);
  reader.repeat();
  expect(told(chunk('{"a', 1), chunk('":', 2), chunk('1}', 3))).toEqual([['1}', 1]]);
  reader.repeat();
  expect(() => told(chunk('{"b', 1))).toThrow(/generated different text/);
});

test('a token whose probability is not a number fails the reply', () => {
  const reader = new LlamaReplyReader(0, 'f');
  const raw = { token: 'a', logprob: null as unknown as number };
  const scored = { choices: [{ text: 'a', logprobs: { content: [raw] } }] };
  expect(() => [...reader.read(scored)]).toThrow('Its weights are damaged');
});
