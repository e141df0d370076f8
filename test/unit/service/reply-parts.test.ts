import { expect, test } from 'vitest';
import type { TokenLogprob } from '../../../src/jobs/chat.ts';
import { StopSequences, TextReader } from '../../../src/service/reply-parts.ts';

function run(sequences: string[], deltas: string[]): { text: string; stopped: boolean } {
  const stops = new StopSequences(sequences);
  let text = '';
  for (const delta of deltas) {
    const cut = stops.push(delta);
    text += cut.text;
    if (cut.stop !== null) return { text, stopped: true };
  }
  return { text: text + stops.flush(), stopped: false };
}

const TEXT = 'aab ab aabaab STOP! aabc';

const SEQUENCES = ['STOP', 'aabc', 'aabaab', 'b a', 'none', 'STOP|b ', '!|STOP!', 'b |aab ab'];

test.each(SEQUENCES.map((each) => each.split('|')))(
  'is the same however the text is split: %s',
  (...sequences) => {
    const found = sequences.flatMap((each) => {
      const at = TEXT.indexOf(each);
      return at < 0 ? [] : { at, end: at + each.length };
    });
    const first = Math.min(...found.map(({ end }) => end));
    const at = found.filter(({ end }) => end === first).map((each) => each.at);
    const expected = TEXT.slice(0, Math.min(TEXT.length, ...at));
    for (const size of [1, 2, 3, 5, 7, 100]) {
      const deltas = TEXT.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(run(sequences, deltas)).toEqual({ text: expected, stopped: found.length > 0 });
    }
  },
);

test('withholds no more than may begin a sequence', () => {
  const stops = new StopSequences(['END']);
  expect(stops.push('abcE')).toEqual({ text: 'abc', stop: null });
  expect(stops.push('x')).toEqual({ text: 'Ex', stop: null });
});

/** A token of these bytes, with the characters that it completes. */
const token = (text: string, ...bytes: number[]): [string, [TokenLogprob]] => [
  text,
  [{ token: bytes.join(), logprob: -1, bytes, top: [] }],
];

test.each([
  // The beginning of a character waits for its end.
  [[], ['a', '', '😀', 'b'], ['97', '240,159 152,128', '98']],
  [['zz'], ['a', '', '😀', 'b'], ['97', '240,159 152,128', '98']],
  [['😀'], ['a', '', '😀', 'b'], ['97']],
  [['b'], ['a', '', '😀', 'b'], ['97', '240,159 152,128']],
  // The reply ends within a character.
  [[], ['a', ''], ['97', '240,159']],
])('stop %j, %j: tokens come with the text that they are of', (stop, texts, expected) => {
  const reader = new TextReader(stop);
  const bytes = [[97], [240, 159], [152, 128], [98]];
  const parts = texts.flatMap((text, index) =>
    reader.ended ? [] : reader.push(...token(text, ...(bytes[index] ?? []))),
  );
  const told = [...parts, ...(reader.ended ? [] : reader.flush())].map((part) =>
    part.type === 'text' ? part.logprobs.map((one) => one.token).join(' ') : part,
  );
  expect(told.filter((each) => each !== '')).toEqual(expected);
});

test('tokens without bytes count by their text', () => {
  const reader = new TextReader(['END']);
  const [logprob] = token('')[1];
  expect(reader.push('abE', [{ ...logprob, token: 'abE', bytes: null }])).toEqual([
    { type: 'text', text: 'ab', logprobs: [] },
  ]);
  expect(reader.flush()).toMatchObject([{ text: 'E', logprobs: [{ token: 'abE' }] }]);
});
