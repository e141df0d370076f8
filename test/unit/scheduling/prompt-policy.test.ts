import { expect, test } from 'vitest';

import { POLICY } from '../../../src/scheduling/policy.ts';
import { mayCount, nextReply, type PromptView } from '../../../src/scheduling/prompt-policy.ts';
import { Random } from '../../chaos/random.ts';

const NOW = 100_000;
const { maxPutAside, slice } = POLICY.prompt;

/** A reply in a random state. */
function randomReply(random: Random): PromptView {
  const length = random.pick([1, 50, 190, 210, 500, 2000, 20_000]);
  const name = random.pick(['waiting', 'waiting', 'ahead', 'prefill', 'prefill', 'decode'] as const);
  return {
    signal: { aborted: random.next() < 0.05 },
    prompt: random.pick(['a', 'b']).repeat(length),
    isAhead: name === 'prefill' && random.next() < 0.2,
    state: { name },
    size: random.next() < 0.2 ? 0 : length,
    putAside: random.pick([0, 1, maxPutAside, maxPutAside + 1]),
    since: NOW - random.pick([0, 500, 1500, 2500, 60_000]),
    text: 'a'.repeat(random.pick([0, 50, 100])),
  };
}

test('random prompts: aborted replies go first, and no prompt is put aside in its slice', () => {
  const random = new Random(7);
  for (let round = 0; round < 20_000; round++) {
    const replies = Array.from({ length: 1 + random.below(5) }, () => randomReply(random));
    const isStored = random.next() < 0.5;
    const uncached = (prompt: string): number => (isStored ? 0 : prompt.length);
    const decision = nextReply({ replies, uncached }, NOW);
    // A reply that waits for its prompt to be computed ahead does not keep others from a step.
    expect(decision).toBeDefined();
    const { next, putAside } = decision ?? { putAside: [] };
    if (replies.some(({ signal }) => signal.aborted)) expect(next?.signal.aborted).toBe(true);
    for (const each of putAside) {
      expect(each.state.name).toBe('prefill');
      expect(each.putAside < maxPutAside || NOW - each.since >= slice).toBe(true);
      const others = [...replies.filter(({ state }) => state.name === 'prefill'), next];
      expect(Math.min(...others.map((other) => other?.size ?? Infinity))).toBeLessThan(each.size / 2);
    }
  }
});

test('a prompt that has waited for its slice begins beside any shorter ones', () => {
  const random = new Random(11);
  for (let round = 0; round < 5000; round++) {
    const overdue = { ...randomReply(random), state: { name: 'waiting' as const }, putAside: maxPutAside };
    const reply: PromptView = { ...overdue, signal: { aborted: false }, since: NOW - slice };
    const computing = Array.from({ length: 3 }, () => randomReply(random)).map((each): PromptView => ({
      ...each,
      signal: { aborted: false },
      state: { name: 'prefill' },
      putAside: 0,
    }));
    const view = { replies: [reply, ...computing], uncached: (prompt: string) => prompt.length };
    expect(nextReply(view, NOW)?.next).toBe(reply);
  }
});

test('prompts are counted beside long ones that let others go first, if a slot is free', () => {
  const long: PromptView = {
    signal: { aborted: false },
    prompt: 'a'.repeat(5000),
    isAhead: false,
    state: { name: 'prefill' },
    size: 5000,
    putAside: 0,
    since: NOW,
    text: '',
  };
  expect(mayCount([], 0, NOW)).toBe(true);
  expect(mayCount([long], 0, NOW)).toBe(false);
  expect(mayCount([long], 1, NOW)).toBe(true);
  expect(mayCount([{ ...long, putAside: maxPutAside }], 1, NOW)).toBe(false);
  expect(mayCount([{ ...long, putAside: maxPutAside, since: NOW - slice }], 1, NOW)).toBe(true);
});
