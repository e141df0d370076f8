import { expect, test, vi } from 'vitest';

import { showSpan } from '../../../src/base/user-timing.ts';

test('a span is told to observers with its track, and leaves nothing in the timeline', async () => {
  performance.mark('own');
  performance.measure('own', 'own');
  const seen = new Promise<PerformanceEntry[]>((resolve) => {
    const observer = new PerformanceObserver((list) => {
      observer.disconnect();
      resolve(list.getEntries());
    });
    observer.observe({ entryTypes: ['measure'] });
  });
  showSpan('prefill', 20, { requestId: 'r', model: 'm' }, 120);
  const [entry] = await seen;
  expect(entry?.toJSON()).toMatchObject({
    name: 'localtext prefill',
    startTime: 100,
    duration: 20,
    detail: {
      requestId: 'r',
      model: 'm',
      devtools: {
        track: 'localtext',
        properties: [
          ['requestId', 'r'],
          ['model', 'm'],
        ],
      },
    },
  });
  expect(performance.getEntriesByType('measure').map(({ name }) => name)).toEqual(['own']);
  performance.clearMeasures();
  performance.clearMarks();
});

test.each([
  ['longer than the thread lives', 1e12],
  ['not a number', Number.NaN],
])('a time that is %s fails no request', (_, ms) => {
  const measure = vi.spyOn(performance, 'measure');
  expect(() => showSpan('request', ms, { model: '' })).not.toThrow();
  expect(() => showSpan('request', 1, { model: '' }, -ms)).not.toThrow();
  expect(measure).toHaveBeenCalledTimes(2);
});
