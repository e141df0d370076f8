import { describe, expect, test } from 'vitest';

import type { ThinkTags } from '../../../src/chat-template/think-tags.ts';
import { ThoughtSplitter, type SplitText } from '../../../src/chat-template/thought-splitter.ts';

const tags = { open: '<think>', close: '</think>' };

function split(
  pieces: readonly string[],
  isInside: boolean,
  of: ThinkTags = tags,
  isOpened = false,
): SplitText & { inside: boolean } {
  const splitter = new ThoughtSplitter(of, isInside, isOpened);
  const parts = [...pieces.map((piece) => splitter.push(piece)), splitter.flush()];
  return {
    reasoning: parts.map(({ reasoning }) => reasoning).join(''),
    text: parts.map(({ text }) => text).join(''),
    inside: splitter.isInside,
  };
}

/** The reply cut at every place, at every two places, and into characters. */
function* cuts(reply: string): Generator<string[]> {
  for (let first = 0; first <= reply.length; first++) {
    for (let second = first; second <= reply.length; second++)
      yield [reply.slice(0, first), reply.slice(first, second), reply.slice(second)];
  }
  yield [...reply];
}

const whole = { inside: false };
test.each([
  // Inside from the start: the prompt has opened the tag.
  ['an answer after', 'I add.\n</think>\n\nFour.', true, { reasoning: 'I add.', text: 'Four.', ...whole }],
  ['no space at all', 'x</think>y', true, { reasoning: 'x', text: 'y', ...whole }],
  ['an empty thought', '\n\n</think>\n\nFour.', true, { reasoning: '', text: 'Four.', ...whole }],
  ['space within both', '\n a\n\nb \n</think>\n c \n', true, { reasoning: 'a\n\nb', text: 'c \n', ...whole }],
  [
    'what resembles the tag',
    'a < b </thin </thing> </</think>!',
    true,
    { reasoning: 'a < b </thin </thing> </', text: '!', ...whole },
  ],
  ['a second closing tag', 'a</think>b</think>c', true, { reasoning: 'a', text: 'b</think>c', ...whole }],
  ['thoughts closed twice', 'a</think>\n\n</think>\n\nb', true, { reasoning: 'a', text: 'b', ...whole }],
  ['nearly a second closing', 'a</think>\n</thin', true, { reasoning: 'a', text: '</thin', ...whole }],
  ['an opening tag within', 'a<think>b</think>c', true, { reasoning: 'a<think>b', text: 'c', ...whole }],
  ['no closing tag', 'I add.\n', true, { reasoning: 'I add.', text: '', inside: true }],
  ['cut within the closing tag', 'I add.</thi', true, { reasoning: 'I add.</thi', text: '', inside: true }],
  ['nothing after the closing tag', 'I add.</think>\n', true, { reasoning: 'I add.', text: '', ...whole }],
  ['characters of two code units', '🧮</think>🍀', true, { reasoning: '🧮', text: '🍀', ...whole }],
  // The model may open the tag itself.
  [
    'a tag that the model opens',
    '\n<think>\nI add.</think>Four.',
    false,
    { reasoning: 'I add.', text: 'Four.', ...whole },
  ],
  [
    'an answer alone',
    ' Four. <think>x</think>',
    false,
    { reasoning: '', text: ' Four. <think>x</think>', ...whole },
  ],
  ['what begins like the tag', '\n<thin air', false, { reasoning: '', text: '\n<thin air', ...whole }],
  ['cut within the opening tag', '<thi', false, { reasoning: '', text: '<thi', ...whole }],
  ['nothing', '', false, { reasoning: '', text: '', ...whole }],
])('splits %s wherever tokens end', (_, reply, isInside, expected) => {
  for (const pieces of cuts(reply)) expect(split(pieces, isInside), JSON.stringify(pieces)).toEqual(expected);
});

test('withholds no more than what may be a tag, or the space before one', () => {
  const splitter = new ThoughtSplitter(tags, true);
  expect(splitter.push('I add').reasoning).toBe('I add');
  expect(splitter.push(' two ').reasoning).toBe(' two');
  expect(splitter.push('and two </th').reasoning).toBe(' and two');
  expect(splitter.thoughts).toBe('I add two and two');
  expect(splitter.push('e').reasoning).toBe(' </the');
});

test.each([
  ['a thought without an end', 'I add. '.repeat(100_000), { text: '', inside: true }],
  ['tags within each other', '<think>'.repeat(20_000), { text: '', inside: true }],
  ['20,000 closing tags', '</think>'.repeat(20_000), { reasoning: '', text: '', inside: false }],
  ['closing tags that never end', '</thin'.repeat(20_000), { text: '', inside: true }],
  ['white space alone', ' '.repeat(5000), { reasoning: '', text: '' }],
])('%s is split in pieces and at once', (_, reply, expected) => {
  const pieces = reply.match(/[^]{1,5}/g) ?? [];
  expect(split(pieces, true)).toMatchObject(expected);
  expect(split([reply], true)).toMatchObject(expected);
});

describe('tags around the answer', () => {
  test('a closing tag with a space in it is taken off, wherever the reply is cut', () => {
    const spaced = { ...tags, answerTags: { open: '[BEGIN]', close: '[END OF IT]' } };
    const reply = '[BEGIN]Hi\n[END OF IT]\n';
    for (let at = 1; at < reply.length; at++) {
      const splitter = new ThoughtSplitter(spaced, false);
      const parts = [splitter.push(reply.slice(0, at)), splitter.push(reply.slice(at)), splitter.flush()];
      expect(parts.map(({ text }) => text).join('')).toBe('Hi');
    }
  });

  const withAnswer = { ...tags, answerTags: { open: '<answer>', close: '</answer>' } };
  test.each([
    ['after thoughts', 'a\n</think>\n<answer>\n4 \n</answer>\n', true, { reasoning: 'a', text: '4' }],
    ['without thoughts', ' <answer>4</answer>', false, { reasoning: '', text: '4' }],
    ['that never close', 'a</think><answer>4\n', true, { reasoning: 'a', text: '4\n' }],
    ['that the model leaves out', 'a</think>\n\n4 < 5\n', true, { reasoning: 'a', text: '4 < 5\n' }],
    ['that are cut', 'a</think><answer>4</answ', true, { reasoning: 'a', text: '4</answ' }],
    ['that only resemble them', '<ans>4</ans> \n', false, { reasoning: '', text: '<ans>4</ans> \n' }],
    ['inside', '<answer>4 </answer> is it</answer>', false, { reasoning: '', text: '4 </answer> is it' }],
  ])('%s belong to neither, wherever tokens end', (_, reply, isInside, expected) => {
    for (const pieces of cuts(reply)) expect(split(pieces, isInside, withAnswer)).toMatchObject(expected);
  });

  test.each([
    ['code', '```xml\n<answer>\n  <a>4</a>\n</answer>\n```'],
    ['a sentence', 'Use `</answer>` to close'],
    ['the end of an example', 'Like this:\n<answer>4</answer>'],
    ['more text', '4</answer> or so'],
  ])('an answer that they do not open keeps them: %s', (_, reply) => {
    for (const pieces of cuts(reply))
      expect(split(pieces, false, withAnswer)).toMatchObject({ reasoning: '', text: reply });
    for (const pieces of cuts(`a</think>${reply}`))
      expect(split(pieces, true, withAnswer)).toMatchObject({ reasoning: 'a', text: reply });
  });

  test('the closing one ends a reply of which they opened an earlier part', () => {
    for (const pieces of cuts(' 4\n</answer>\n'))
      expect(split(pieces, false, withAnswer, true)).toMatchObject({ reasoning: '', text: ' 4' });
  });

  test('the tag that ends the thoughts may open the answer', () => {
    const one = { open: '[A]', close: '[B]', answerTags: { open: '[B]', close: '[C]' } };
    for (const pieces of cuts('a[B]4 [C]\n'))
      expect(split(pieces, true, one)).toMatchObject({ reasoning: 'a', text: '4' });
  });
});
