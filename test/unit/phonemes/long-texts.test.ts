import { expect, test } from 'vitest';

import { createPhonemizer } from '../../../src/phonemes/phonemizer.ts';
import { splitSentences } from '../../../src/phonemes/sentences.ts';

/** Bounds of the time that a text takes, and of what is spoken before a job can be aborted. */

/** Counts how often words are looked up. */
function counting(words: Record<string, string>): { table: Record<string, string>; lookups(): number } {
  let count = 0;
  const table = new Proxy(words, {
    getOwnPropertyDescriptor(target, key) {
      count++;
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  return { table, lookups: () => count };
}

test('a word of many known parts is looked up some times a character, and words are spoken a few at a time', async () => {
  const { table: gold, lookups } = counting({ cat: 'kˈæt' });
  const phonemizer = createPhonemizer(
    {
      dialect: { gold, silver: {} },
      tagger: { tags: ['NN'], weights: {}, tagdict: {}, vocab: [] },
      specialCases: {},
      writtenForms: {
        months: {},
        abbreviations: {},
        titles: {},
        units: {},
        symbols: {},
        currency: {},
        roman_cardinal: [],
        roman_ordinal: [],
      },
    },
    async () => null,
  );
  const text = 'cat-'.repeat(120) + 'cat';
  const spoken = (await phonemizer.phonemes(text)).join('');
  expect(spoken.match(/kˈ?æt/g)?.length).toBeGreaterThan(30);
  expect(lookups()).toBeLessThan(60 * text.length);
  for (const [word, phonemes] of [
    ['cat ', 'kˈæt'],
    ['^', 'kˈɛɹət'],
  ] as const) {
    const pieces = await phonemizer.phonemes(word.repeat(120));
    expect(pieces.join('').replaceAll(' ', '')).toBe(phonemes.repeat(120));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(100);
  }
});

test('a sentence of a thousand words is cut between words', () => {
  const words = Array.from({ length: 1000 }, (_, at) => `word${at}`);
  const sentences = splitSentences(words.join(' '), new Set());
  expect(sentences.join(' ').split(/\s+/)).toEqual(words);
  expect(Math.max(...sentences.map(({ length }) => length))).toBeLessThanOrEqual(500);
});

test('a run of 20,000 characters without a space is cut', () => {
  const sentences = splitSentences('𝐚'.repeat(10_000), new Set());
  expect(sentences.join('')).toBe('𝐚'.repeat(10_000));
  expect(sentences.every((sentence) => sentence.length <= 1000 && sentence.isWellFormed())).toBe(true);
});
