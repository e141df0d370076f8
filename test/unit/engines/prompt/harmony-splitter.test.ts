import { expect, test } from 'vitest';

import { HarmonySplitter } from '../../../../src/engines/prompt/harmony-splitter.ts';

function split(pieces: readonly string[], isInside: boolean) {
  const splitter = new HarmonySplitter(isInside);
  const parts = [...pieces.map((piece) => splitter.push(piece)), splitter.flush()];
  return {
    reasoning: parts.map(({ reasoning }) => reasoning).join(''),
    text: parts.map(({ text }) => text).join(''),
    inside: splitter.isInside,
    thoughts: splitter.thoughts,
  };
}

/** The reply cut at every place, into characters, and whole. */
function* cuts(reply: string): Generator<string[]> {
  for (let at = 0; at <= reply.length; at++) yield [reply.slice(0, at), reply.slice(at)];
  yield [...reply];
}

const analysis = '<|channel|>analysis<|message|>';
const next = '<|end|><|start|>assistant';
const final = '<|channel|>final<|message|>';

test.each([
  [
    'thoughts and an answer',
    `${analysis}I add.${next}${final}Four.`,
    false,
    { reasoning: 'I add.', text: 'Four.', inside: false, thoughts: `${analysis}I add.` },
  ],
  [
    'thoughts that the prompt has opened',
    `I add.${next}${final}Four <|end|>.`,
    true,
    { reasoning: 'I add.', text: 'Four <|end|>.', inside: false, thoughts: 'I add.' },
  ],
  ['an answer alone', `${final}Four.`, false, { reasoning: '', text: 'Four.', inside: false, thoughts: '' }],
  [
    'an answer without a channel',
    'Four < five.',
    false,
    { reasoning: '', text: 'Four < five.', inside: false, thoughts: '' },
  ],
  [
    'two thoughts',
    `${analysis}One.${next}${analysis}Two.${next}${final}Three.`,
    false,
    {
      reasoning: 'One.\n\nTwo.',
      text: 'Three.',
      inside: false,
      thoughts: `${analysis}One.${next}${analysis}Two.`,
    },
  ],
  [
    'thoughts that are cut',
    `${analysis}I < add`,
    false,
    { reasoning: 'I < add', text: '', inside: true, thoughts: `${analysis}I < add` },
  ],
  [
    'a turn that ends after the thoughts',
    `${analysis}I add.<|end|>`,
    false,
    { reasoning: 'I add.', text: '', inside: true, thoughts: `${analysis}I add.` },
  ],
  [
    'a call',
    `${analysis}Rain?${next}<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Oslo"}`,
    false,
    {
      reasoning: 'Rain?',
      text: '<tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>',
      inside: false,
      thoughts: `${analysis}Rain?`,
    },
  ],
  [
    'a call whose recipient comes first',
    ' to=functions.now<|channel|>commentary json<|message|>{}',
    false,
    {
      reasoning: '',
      text: '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
      inside: false,
      thoughts: '',
    },
  ],
  [
    'words before a call',
    `<|channel|>commentary<|message|>I look.${next}<|channel|>commentary to=functions.now<|message|>{}`,
    false,
    {
      reasoning: '',
      text: 'I look.<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
      inside: false,
      thoughts: '',
    },
  ],
  ['nothing', '', false, { reasoning: '', text: '', inside: false, thoughts: '' }],
])('splits %s wherever tokens end', (_, reply, isInside, expected) => {
  for (const pieces of cuts(reply)) expect(split(pieces, isInside), JSON.stringify(pieces)).toEqual(expected);
});

test('withholds no more than what may end a message', () => {
  const splitter = new HarmonySplitter(true);
  expect(splitter.push('a <|').reasoning).toBe('a ');
  expect(splitter.push('en').reasoning).toBe('');
  expect(splitter.push('t').reasoning).toBe('<|ent');
  expect(splitter.isInside).toBe(true);
});

test.each([
  ['heads without an end', '<|channel|>'.repeat(20_000), { reasoning: '' }],
  ['a thought without an end', analysis + 'I add. '.repeat(100_000), { text: '', inside: true }],
  ['white space alone', ' '.repeat(100_000), { reasoning: '' }],
])('%s is split in pieces and at once', (_, reply, expected) => {
  const pieces = reply.match(/[^]{1,5}/g) ?? [];
  expect(split(pieces, false)).toMatchObject(expected);
  expect(split([reply], false)).toMatchObject(expected);
});
