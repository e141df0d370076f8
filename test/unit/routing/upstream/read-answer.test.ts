import { expect, test, vi } from 'vitest';

import { yieldToEventLoop } from '../../../../src/browser/yield-to-event-loop.ts';
import { TimeSlice } from '../../../../src/routing/upstream/read-answer.ts';

test('a step of another request waits for a slice or two, not for one of every stream', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
  let slices = 0;
  const over = new AbortController();
  const streams = Array.from({ length: 20 }, async () => {
    for (const slice = new TimeSlice(); !over.signal.aborted; slices++) await slice.yieldWhenOver();
  });
  for (let steps = 0; steps < 10; steps++) await yieldToEventLoop();
  expect(slices).toBeGreaterThan(0);
  expect(slices).toBeLessThan(40);
  over.abort();
  await Promise.all(streams);
});
