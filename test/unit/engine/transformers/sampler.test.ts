import { expect, test } from 'vitest';

import { Sampler } from '../../../../src/engine/engines/transformers/sampler.ts';
import type { Sampling } from '../../../../src/protocol/job.ts';

const logits = Float32Array.from([0.5, 0.2, 0.2, 0.1].map(Math.log));

/** Shares of each token in many draws. */
function shares(sampling: Partial<Sampling>, times = 4000): number[] {
  const counts = [0, 0, 0, 0];
  const sampler = new Sampler({ temperature: 1, topP: 1, seed: 1, ...sampling });
  for (let at = 0; at < times; at++) {
    const id = sampler.next(logits);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts.map((count) => Math.round((count / times) * 50) / 50);
}

test('tokens are drawn as often as the model says', () => {
  const [a, b, c, d] = shares({});
  expect(a).toBeCloseTo(0.5, 1);
  expect(b).toBeCloseTo(0.2, 1);
  expect(c).toBeCloseTo(0.2, 1);
  expect(d).toBeCloseTo(0.1, 1);
});

test('a low temperature sharpens, a high one flattens, 0 takes the best', () => {
  expect(shares({ temperature: 0.2 })[0]).toBeGreaterThan(0.95);
  expect(shares({ temperature: 2 })[0]).toBeLessThan(0.42);
  expect(shares({ temperature: 0 })).toEqual([1, 0, 0, 0]);
});

test('topP keeps the smallest set that reaches it', () => {
  expect(shares({ topP: 0.5 })).toEqual([1, 0, 0, 0]);
  const [a = 0, b = 0, c = 0, d] = shares({ topP: 0.85 });
  expect([a > 0.5, b > 0.15, c > 0.15, d]).toEqual([true, true, true, 0]);
  expect(shares({ topP: 0 })).toEqual([1, 0, 0, 0]);
});

test('penalties count the reply alone, once and each time', () => {
  const greedy = { temperature: 0, topP: 1 };
  const reply = (sampling: Partial<Sampling>, before: number[] = []): number[] => {
    const sampler = new Sampler({ ...greedy, ...sampling }, before);
    return Array.from({ length: 4 }, () => sampler.next(logits));
  };
  expect(reply({})).toEqual([0, 0, 0, 0]);
  // After one time each, 2 and 1.2 below their own: the first is the best again.
  expect(reply({ presencePenalty: 2 })).toEqual([0, 1, 2, 3]);
  expect(reply({ presencePenalty: 2 }, [0])).toEqual([1, 2, 3, 0]);
  expect(reply({ frequencyPenalty: 0.6 })).toEqual([0, 0, 1, 2]);
});

test('a bias of 100 decides, of -100 forbids', () => {
  expect(shares({ logitBias: { '3': 100 } })).toEqual([0, 0, 0, 1]);
  expect(shares({ logitBias: { '0': -100 } })[0]).toBe(0);
});

test('without a seed, two replies differ', () => {
  const many = new Float32Array(1000);
  const reply = () => {
    const sampler = new Sampler({ temperature: 1, topP: 1 });
    return Array.from({ length: 8 }, () => sampler.next(many)).join();
  };
  expect(reply()).not.toBe(reply());
});
