import { expect, test } from 'vitest';
import { StopSequences } from '../../../src/api/reply-parts.ts';

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

test.each([['STOP'], ['aabc'], ['aabaab'], ['b a'], ['none'], ['STOP', 'b '], ['!', 'STOP!']])(
  'is the same however the text is split: %s',
  (...sequences) => {
    const at = sequences.map((sequence) => TEXT.indexOf(sequence)).filter((index) => index >= 0);
    const expected = at.length === 0 ? TEXT : TEXT.slice(0, Math.min(...at));
    for (const size of [1, 2, 3, 5, 7, 100]) {
      const deltas = TEXT.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(run(sequences, deltas)).toEqual({ text: expected, stopped: at.length > 0 });
    }
  },
);

test('withholds no more than may begin a sequence', () => {
  const stops = new StopSequences(['END']);
  expect(stops.push('abcE')).toEqual({ text: 'abc', stop: null });
  expect(stops.push('x')).toEqual({ text: 'Ex', stop: null });
});
