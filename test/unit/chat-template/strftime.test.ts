import { expect, test } from 'vitest';

import { strftime } from '../../../src/chat-template/strftime.ts';

const afternoon = new Date(2026, 6, 5, 15, 4, 9, 70);
const midnight = new Date(2024, 11, 30, 0, 30, 0);

test.each([
  [afternoon, '%Y-%m-%d %H:%M:%S', '2026-07-05 15:04:09'],
  [afternoon, '%A, %d %B %y; %a %b %e', 'Sunday, 05 July 26; Sun Jul  5'],
  [afternoon, '%B %-d, %Y at %-I:%M %p', 'July 5, 2026 at 3:04 PM'],
  [afternoon, '%j %w %f', '186 0 070000'],
  [
    afternoon,
    '%c|%x|%X|%D|%F|%T|%R',
    'Sun Jul  5 15:04:09 2026|07/05/26|15:04:09|07/05/26|2026-07-05|15:04:09|15:04',
  ],
  [afternoon, '%%%h[%z%Z]', '%Jul[]'],
  [midnight, '%I %p %-H %-M %j', '12 AM 0 30 365'],
  [midnight, '%Q %', '%Q %'],
])("a time is written as Python's strftime() does: %s %s", (date, format, text) => {
  expect(strftime(date, format)).toBe(text);
});
