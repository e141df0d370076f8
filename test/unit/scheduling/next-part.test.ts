import { expect, test } from 'vitest';

import { PartTurns } from '../../../src/scheduling/part-queue.ts';

const request = (arrived: number, left: number, client = 'a') => ({ arrived, left, client });

/** Parts that are computed until `own` is done, which comes after 20 requests of client `a`, some computed already. */
function partsUntilDone(own: ReturnType<typeof request>, computed: number, others = 16): number {
  const turns = new PartTurns();
  let waiting = Array.from({ length: 20 }, (_, arrived) => request(arrived, others));
  for (let count = -computed; ; count++) {
    if (count === 0) waiting.push(own);
    const next = turns.next(waiting) ?? own;
    waiting = waiting.filter((each) => each !== next);
    // Others come without end.
    waiting.push(--next.left > 0 ? next : request(100 + count, others));
    if (own.left === 0) return count + 1;
  }
}

test('a short request behind many long ones waits for few of their parts, wherever they are', () => {
  const sum = (parts: number): number =>
    [0, 1, 2, 3].reduce((total, computed) => total + partsUntilDone(request(20, parts), computed), 0);
  expect(sum(1) / 4).toBe(1.25);
  expect(sum(3) / 4).toBeLessThan(4.1);
});

test.each([1, 2, 16])('%i parts of a client take every second turn, whatever comes from another', (parts) => {
  for (const computed of [1, 2, 3, 4])
    expect(partsUntilDone(request(20, parts, 'b'), computed, 1)).toBe(2 * parts - 1);
});

test('a long request has a part in four, whatever comes', () => {
  const long = request(0, 8);
  const turns = new PartTurns();
  const taken = Array.from({ length: 32 }, (_, computed) => turns.next([long, request(computed + 1, 1)]));
  expect(taken.filter((each) => each === long)).toHaveLength(8);
});
