import { expect, test } from 'vitest';

import { engineOf } from './lifetime/support/kill.ts';
import { recordSpans, type TracedSpan } from '../support/record-spans.ts';
import { sharedPage } from '../support/shared-page.ts';

const tab = sharedPage();

/** Browsers round what `performance.now()` tells. */
const COARSE_MS = 0.1;

const chat = () =>
  tab.page.evaluate(async (apiKey) => {
    const stream = await window.client(apiKey).chat.completions.create({
      model: 'amber-phoenix-4',
      messages: [{ role: 'user', content: 'Count from one to ten.' }],
      max_tokens: 8,
      temperature: 0,
      stream: true,
    });
    let id = '';
    for await (const chunk of stream) ({ id } = chunk);
    return id.replace('chatcmpl-', '');
  }, tab.key);

const embed = () =>
  tab.page.evaluate(async (apiKey) => {
    await window.client(apiKey).embeddings.create({ model: 'jade-mole-4', input: 'a fox' });
  }, tab.key);

function only(spans: TracedSpan[], name: string): TracedSpan {
  const [found, ...others] = spans.filter((span) => span.name === `localtext ${name}`);
  if (!found || others.length > 0) throw new Error(`${others.length + (found ? 1 : 0)} spans ${name}`);
  return found;
}

test("a chat's stages are in the browser's own trace, in order, and nowhere else", async () => {
  let id = '';
  const spans = await recordSpans(tab.context, async () => {
    id = await chat();
  });
  const queue = only(spans, 'queue');
  const load = only(spans, 'load');
  const prefill = only(spans, 'prefill');
  const decode = only(spans, 'decode');
  const request = only(spans, 'request');
  const accepted = only(spans, 'until accepted');
  const firstToken = only(spans, 'until first token');

  // Of two threads, and the service's in whole milliseconds.
  const slackMs = 5;
  expect(queue.end).toBeLessThan(prefill.start + COARSE_MS);
  expect(prefill.end).toBeCloseTo(decode.start, 1);
  expect(load.start).toBeGreaterThan(queue.start - COARSE_MS);
  expect(load.end).toBeLessThan(queue.end + COARSE_MS);
  expect(load.end - load.start).toBeGreaterThan(50);
  expect(decode.end - decode.start).toBeGreaterThan(10);
  expect(request.start).toBeLessThan(queue.start + slackMs);
  expect(request.end).toBeGreaterThan(decode.end - slackMs);
  expect(accepted.end).toBeGreaterThan(queue.end - slackMs);
  expect(firstToken.end).toBeGreaterThan(accepted.end - slackMs);
  expect(firstToken.end).toBeLessThan(request.end + slackMs);

  for (const { detail } of spans) expect(detail).toMatchObject({ devtools: { track: 'localtext' } });
  for (const { detail } of [queue, prefill, decode, request])
    expect(detail).toMatchObject({ requestId: id, model: 'amber-phoenix-4' });
  expect(load.detail).toMatchObject({ model: 'smollm2-135m-instruct-q4_1' });

  const embedded = await recordSpans(tab.context, embed);
  expect(only(embedded, 'queue').end).toBeLessThan(only(embedded, 'compute').start + COARSE_MS);
  only(embedded, 'request');

  const left = () => performance.getEntriesByType('measure').length;
  expect(await engineOf(tab.page)?.evaluate(left)).toBe(0);
  expect(await tab.context.serviceWorkers()[0]?.evaluate(left)).toBe(0);
});
