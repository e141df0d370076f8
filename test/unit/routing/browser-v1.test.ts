import { expect, test, vi } from 'vitest';

import { showRequest } from '../../../src/routing/browser-v1.ts';

test('a finished request is shown to the profiler from its begin, with the stages that it reached', () => {
  const measure = vi.spyOn(performance, 'measure').mockReturnThis();
  vi.spyOn(performance, 'now').mockReturnValue(1000);
  showRequest({ requestId: 'r', model: null, queueMs: 20, firstTokenMs: null }, 100);
  const shown = measure.mock.calls.map(([name, options]) => [name, options]);
  const detail = expect.objectContaining({ requestId: 'r', model: '' }) as object;
  expect(shown).toEqual([
    ['localtext request', { start: 900, end: 1000, detail }],
    ['localtext until accepted', { start: 900, end: 920, detail }],
  ]);
});
