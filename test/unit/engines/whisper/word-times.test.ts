import { expect, test } from 'vitest';

import { timeWords } from '../../../../src/engines/whisper/word-times.ts';

const vocabulary = [' The', ' boat', 's', ',', ' "', 'Go', '"', ' 3', '.', '5', '%', '!', '-', ''];
const textOf = (tokens: readonly number[]) => tokens.map((token) => vocabulary[token]).join('');
/** Words of tokens that begin a tenth of a second after one another. */
const wordsOf = (tokens: readonly number[], text = textOf, language = 'en') =>
  timeWords(
    tokens,
    [...tokens, 0].map((_, at) => at / 10),
    text,
    language,
  ).map(({ word, start, end }) => [word, Math.round(start * 10), Math.round(end * 10)]);

test('tokens are joined to words, without the punctuation around them', () => {
  expect(wordsOf([0, 1, 2, 3, 4, 5, 6, 11])).toEqual([
    ['The', 0, 1],
    ['boats', 1, 3],
    ['Go', 5, 6],
  ]);
  expect(wordsOf([7, 8, 9, 10, 8])).toEqual([['3.5%', 0, 4]]);
  expect(wordsOf([1, 12, 5])).toEqual([['boat-Go', 0, 3]]);
  expect(wordsOf([4, 12])).toEqual([]);
});

test('timestamps are no part of a word', () => {
  expect(wordsOf([13, 0, 1, 13])).toEqual([
    ['The', 1, 2],
    ['boat', 2, 3],
  ]);
});

test('a character of several tokens is whole, and in Chinese it is a word', () => {
  const bytes = [...new TextEncoder().encode('语音。')];
  const decode = (tokens: readonly number[]) => new TextDecoder().decode(Uint8Array.from(tokens));
  expect(wordsOf(bytes, decode, 'zh')).toEqual([
    ['语', 0, 3],
    ['音', 3, 6],
  ]);
  expect(wordsOf(bytes, decode, 'en')).toEqual([['语音', 0, 6]]);
});

test('silence is no part of the first and the last word', () => {
  expect(timeWords([0, 1, 0], [0, 5, 5.4, 9], textOf, 'en')).toEqual([
    { word: 'The', start: 0 + 5 - 1.4, end: 5 },
    { word: 'boat', start: 5, end: 5.4 },
    { word: 'The', start: 5.4, end: 5.4 + 1.4 },
  ]);
  expect(timeWords([], [0], textOf, 'en')).toEqual([]);
});

test('a word does not end before it begins', () => {
  expect(timeWords([0, 1], [1, 0.5, 0.4], textOf, 'en').every(({ start, end }) => start <= end)).toBe(true);
});
