import { expect, test } from 'vitest';

import { SlotPredictor } from '../../../../src/llama/internals/prompt-slots.ts';

const system = 's'.repeat(500);

test('takes the idle slot that has most in common, else the least recently used', () => {
  const cache = new SlotPredictor(2);
  const first = cache.take('apples');
  cache.release(first, 'apples are red');
  const second = cache.take('bananas');
  expect(second).not.toBe(first);
  cache.release(second, 'bananas are yellow');
  expect(cache.take('apples are green')).toBe(first);
  expect(cache.take('apples are green')).toBe(second);
  expect(cache.idle).toBe(0);
});

test('knows what a prompt would make llama.cpp forget, unless it was copied', () => {
  const cache = new SlotPredictor(2);
  cache.release(cache.take(system), system + 'a long conversation');
  expect(cache.wouldEvict(system + 'another')).toBe('long conversation'.length + 1);
  expect(cache.wouldEvict(system + 'a long conversation, continued')).toBe(0);
  expect(cache.wouldEvict('nothing alike')).toBe(0);
  cache.copied();
  expect(cache.wouldEvict(system + 'another')).toBe(0);
});

test('knows when a saved state fits better than the slot that will be taken', () => {
  const cache = new SlotPredictor(2);
  const conversation = system + 'a'.repeat(300);
  cache.release(cache.take(system), conversation);
  cache.copied();
  cache.release(cache.take(system + 'b'), system + 'b');
  expect(cache.uncached(conversation + '?')).toBe(1);
  expect(cache.wouldReuse(conversation + '?')).toBe(300);
  for (const letter of ['x', 'y']) cache.release(cache.take(letter), letter);
  expect(cache.wouldReuse(conversation + '?')).toBe(0);
  cache.release(cache.take(conversation + '?'), conversation + '?');
  // It has been moved into the slot.
  expect(cache.uncached(conversation + '?!')).toBe(1);
  expect(cache.wouldReuse(conversation + '?!')).toBeLessThanOrEqual(0);
});
