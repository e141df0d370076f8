import { expect, test } from 'vitest';

import {
  alignTokens,
  timeWords,
  wordsOf,
  type TokenWord,
} from '../../../../../src/worker/runtimes/whisper/word-times.ts';

const frames = 60;

/** Each token looks at the frames from its own to the next token's, and every token at frame 30. */
const looksAt = (starts: readonly number[]): Float32Array => {
  const head = new Float32Array(starts.length * frames);
  for (const [token, start] of starts.entries()) {
    head.fill(
      0.08,
      token * frames + start,
      token * frames + Math.max(starts[token + 1] ?? frames, start + 5),
    );
    head[token * frames + 30] = 0.9;
  }
  return head;
};

test('each token begins where the heads look, and what all tokens look at says nothing', () => {
  const starts = [0, 0, 12, 25, 44];
  const heads = [looksAt(starts), looksAt(starts), new Float32Array(5 * frames).fill(1 / frames)];
  const found = alignTokens({ heads, frames, tokens: 5 }, 1);
  expect(found[0]).toBe(0);
  for (const [at, start] of [12, 25, 44].entries())
    expect(Math.abs((found[at + 1] ?? 0) - start)).toBeLessThan(4);
});

test('times never go back, though the heads look back', () => {
  const found = alignTokens({ heads: [looksAt([0, 0, 40, 10, 45])], frames, tokens: 5 }, 1);
  expect(found).toEqual(found.toSorted((a, b) => a - b));
});

test('a sound that is shorter than its text', () => {
  const found = alignTokens({ heads: [new Float32Array(6 * 2)], frames: 2, tokens: 6 }, 1);
  expect(found).toHaveLength(5);
  expect(found.every((frame) => frame >= 0 && frame < 2)).toBe(true);
});

const vocabulary = [' The', ' boat', 's', ',', ' "', 'Go', '"', ' 3', '.', '5', '%', '!', '-'];
const textOf = (tokens: readonly number[]) => tokens.map((token) => vocabulary[token]).join('');
const word = (text: string, first: number, end: number): TokenWord => ({ word: text, first, end });

test('tokens are joined to words, without the punctuation around them', () => {
  expect(wordsOf([0, 1, 2, 3, 4, 5, 6, 11], textOf, 'en')).toEqual([
    word('The', 0, 1),
    word('boats', 1, 3),
    word('Go', 5, 6),
  ]);
  expect(wordsOf([7, 8, 9, 10, 8], textOf, 'en')).toEqual([word('3.5%', 0, 4)]);
  expect(wordsOf([1, 12, 5], textOf, 'en')).toEqual([word('boat-Go', 0, 3)]);
  expect(wordsOf([4, 12], textOf, 'en')).toEqual([]);
});

test('a character of several tokens is whole, and in Chinese it is a word', () => {
  const bytes = [...new TextEncoder().encode('语音。')];
  const decode = (tokens: readonly number[]) => new TextDecoder().decode(Uint8Array.from(tokens));
  expect(wordsOf(bytes, decode, 'zh')).toEqual([word('语', 0, 3), word('音', 3, 6)]);
  expect(wordsOf(bytes, decode, 'en')).toEqual([word('语音', 0, 6)]);
});

test('silence is no part of the first and the last word', () => {
  const words = [word('a', 0, 1), word('b', 1, 2), word('c', 2, 3)];
  expect(timeWords(words, [0, 5, 5.4, 9])).toEqual([
    { word: 'a', start: 0 + 5 - 1.4, end: 5 },
    { word: 'b', start: 5, end: 5.4 },
    { word: 'c', start: 5.4, end: 5.4 + 1.4 },
  ]);
  expect(timeWords([], [0])).toEqual([]);
});
