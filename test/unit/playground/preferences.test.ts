import { expect, test } from 'vitest';

import { restore } from '../../../playground/preferences.ts';

const initial = { model: 'a', temperature: 0.7, maxTokens: 512 as number | null, open: false };

test('stored fields of the right kind are taken', () => {
  expect(restore('{"temperature":0.2,"maxTokens":null,"open":true}', initial)).toEqual({
    model: 'a',
    temperature: 0.2,
    maxTokens: null,
    open: true,
  });
  expect(restore('true', false)).toBe(true);
});

test.each(['{', 'null', '[]', '"x"', '{"model":{"a":1},"temperature":"a","open":null,"__proto__":{"x":1}}'])(
  'what is not falls back: %s',
  (text) => {
    expect(restore(text, initial)).toEqual(initial);
  },
);

test('a value of another kind falls back', () => {
  expect(restore('{"toString":1}', 'text')).toBe('text');
  expect(restore('["a"]', 'text')).toBe('text');
});
