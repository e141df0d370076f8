import { expect, test } from 'vitest';
import type { ResponseObject } from '../../../../src/service/responses/response-object.ts';
import type { Exchange } from '../../../../src/service/http/exchange.ts';
import { findResponse } from '../../../../src/service/responses/find-response.ts';
import { responseFormat } from '../../../../src/service/responses/response-events.ts';

test('what was sent is stored for its own key only, and not after the whole reply', async () => {
  const stored: string[] = [];
  const events = responseFormat('resp_1', {
    keyId: 'key_a',
    isStreamed: true,
    isKept: true,
    summarizes: false,
    usage: () => ({ promptTokens: 1, cachedTokens: 0, completionTokens: 1 }),
    render: () => ({}) as ResponseObject,
    keep: async ({ status }) => {
      stored.push(String(status));
      return {} as ResponseObject;
    },
  });
  events.event({ type: 'accepted', index: 0, accepted: { promptTokens: 1, fingerprint: 'f' } });
  const exchangeOf = (keyId: string): Exchange =>
    ({ admitted: { keyId }, dependencies: { responses: { get: async () => null } } }) as unknown as Exchange;
  const refer = (keyId = 'key_a') => findResponse(exchangeOf(keyId), 'resp_1');
  await refer('key_b');
  expect(stored).toEqual([]);
  await refer();
  const ended = events.end();
  await refer();
  await ended;
  expect(stored).toEqual(['incomplete', 'completed']);
});
