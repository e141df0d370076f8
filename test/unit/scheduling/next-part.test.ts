import { expect, test } from 'vitest';

import { nextPart } from '../../../src/scheduling/policy.ts';

/** Parts that are computed until a request of `parts` parts is done, which comes after 20 requests of 16, some computed already. */
function partsUntilDone(parts: number, computed: number): number {
  let waiting = Array.from({ length: 20 }, (_, arrived) => ({ arrived, left: 16 }));
  const short = { arrived: 20, left: parts };
  waiting.push(short);
  for (let count = 0; ; count++) {
    const next = nextPart(waiting, computed + count);
    if (!next) throw new Error('nothing is left');
    waiting = waiting.filter((each) => each !== next);
    if (--next.left > 0) waiting.push(next);
    if (short.left === 0) return count + 1;
  }
}

test('a short request behind many long ones waits for few of their parts, wherever they are', () => {
  const sum = (parts: number): number =>
    [0, 1, 2, 3].reduce((total, computed) => total + partsUntilDone(parts, computed), 0);
  expect(sum(1) / 4).toBe(1.25);
  expect(sum(3) / 4).toBeLessThan(4.1);
});

test('a long request has a part in four, whatever comes', () => {
  const long = { arrived: 0, left: 8 };
  const turns = Array.from({ length: 32 }, (_, computed) =>
    nextPart([long, { arrived: computed + 1, left: 1 }], computed),
  );
  expect(turns.filter((each) => each === long)).toHaveLength(8);
});
