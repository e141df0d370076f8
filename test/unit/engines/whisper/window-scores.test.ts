import type { Tensor } from '@huggingface/transformers';
import { expect, test } from 'vitest';

import { findWrongId } from '../../../../src/engines/whisper/internals/whisper-model.ts';
import { WindowScores } from '../../../../src/engines/whisper/internals/window-scores.ts';

/** 10 words; from 10 on they are times. The prompt is one token. */
const FIRST = 10;
const at = (seconds: number): number => FIRST + Math.round(seconds / 0.02);

const row = (scores: Float32Array) => ({ data: scores }) as unknown as Tensor;

function allowed(tokens: readonly number[]): number[] {
  const logits = new Float32Array(1500);
  new WindowScores(1, FIRST, 9, 0)([[0n, ...tokens.map(BigInt)]], row(logits));
  return Array.from(logits).flatMap((score, token) => (score === 0 ? [token] : []));
}

test('the first time is in the first second', () => {
  expect(allowed([])).toEqual(Array.from({ length: FIRST + 51 }, (_, token) => token));
});

test('times never go back, and only the start of a segment repeats the last time', () => {
  const times = (tokens: number[]) => allowed(tokens).find((token) => token >= FIRST);
  expect(times([at(0), 1])).toBe(at(0.02));
  expect(times([at(0), 1, at(4)])).toBe(at(4));
  expect(times([at(0), 1, at(4), at(4)])).toBe(at(4.02));
});

test.each([0, 0.5])('log probabilities are those before the temperature (%f)', (temperature) => {
  const scores = new WindowScores(1, FIRST, 9, temperature);
  // generate() divides before, and its other processors change the scores after.
  const given = [2, 1, 0].map((score) => score / (temperature || 1));
  const logits = new Float32Array(given);
  scores([[0n]], row(logits));
  logits[2] = -Infinity;
  scores.note(1);
  scores.note(1);
  expect(scores.logprobs).toBeCloseTo(1 - Math.log(Math.E ** 2 + Math.E));
});

test('a window whose results are not numbers ends at its next token', () => {
  const scores = new WindowScores(1, FIRST, 9, 0);
  scores([[0n]], row(new Float32Array(20).fill(Infinity)));
  const logits = new Float32Array(20);
  scores([[0n, 1n]], row(logits));
  expect([logits.indexOf(0), logits.lastIndexOf(0)]).toEqual([9, 9]);
});

test('a config that gives a special token another id than the tokenizer', () => {
  const names = ['<|endoftext|>', '<|startoftranscript|>', '<|en|>', '<|transcribe|>', '<|notimestamps|>'];
  const config = { eos_token_id: 0, decoder_start_token_id: 1, no_timestamps_token_id: 4 };
  const fault = (more: object) => findWrongId({ ...config, ...more }, (token) => names.indexOf(token));
  expect(fault({ lang_to_id: { '<|en|>': 2 }, task_to_id: { transcribe: 3 } })).toBeNull();
  expect(fault({ eos_token_id: 3 })).toMatch(/gives <\|endoftext\|> the id 3/);
  expect(fault({ lang_to_id: { '<|en|>': 7 } })).toMatch(/gives <\|en\|> the id 7/);
  expect(fault({ task_to_id: { transcribe: 2 } })).toMatch(/gives <\|transcribe\|> the id 2/);
});
