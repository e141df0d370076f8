import { expect, test } from 'vitest';
import { endOfSentences, hasSound } from '../../../../playground/speech/cut-sentences.ts';

test('a text that grows is cut behind its complete sentences', () => {
  const text = 'One. Two! "Three?" Four';
  expect(text.slice(0, endOfSentences(text, 0))).toBe('One. Two! "Three?" ');
  expect(endOfSentences('One. Tw', 5)).toBe(5);
  // The number of an item, and a point that may go on as in 3.14.
  expect(endOfSentences('1. First', 0)).toBe(0);
  expect(endOfSentences('It is 3.', 0)).toBe(0);
  expect(endOfSentences('1. First\n2', 0)).toBe(9);
});

test('marks and emojis alone are not sent', () => {
  expect(['**', '- ', '🙂', '…'].some(hasSound)).toBe(false);
  expect(['1', 'é', '你'].every(hasSound)).toBe(true);
});
