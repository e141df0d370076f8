import { expect, test } from 'vitest';

import { clock, renamed, toSrt, toText } from '../../../../playground/speech/subtitles.ts';

const segments = [
  { start: 0, end: 1.5, text: 'One.' },
  { start: 3723.9996, end: 3725.01, text: 'Two --> three.' },
];

test('SubRip: numbers, times with a comma, and no arrow in the text', () => {
  expect(toSrt(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n2\n01:02:04,000 --> 01:02:05,010\nTwo -> three.\n\n',
  );
  expect(toSrt([])).toBe('');
  expect(toText(segments)).toBe('One. Two --> three.');
});

test('times for people, and names of saved files', () => {
  expect([0, 4.9, 750, 3723].map(clock)).toEqual(['0:00', '0:04', '12:30', '1:02:03']);
  expect(renamed('a.b.mp3', 'srt')).toBe('a.b.srt');
  expect(renamed('memo', 'txt')).toBe('memo.txt');
});
