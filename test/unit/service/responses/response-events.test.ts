import { expect, test } from 'vitest';
import type { ResponseObject } from '../../../../src/service/responses/response-object.ts';
import { storeSentById } from '../../../../src/service/responses/item-references.ts';
import { ResponseEvents } from '../../../../src/service/responses/response-events.ts';

test('what was sent is not stored after the whole reply', async () => {
  const stored: string[] = [];
  const events = new ResponseEvents('resp_1', {
    isStreamed: true,
    summarizes: false,
    usage: () => ({ promptTokens: 1, cachedTokens: 0, completionTokens: 1 }),
    render: () => ({}) as ResponseObject,
    keep: async ({ status }) => {
      stored.push(String(status));
      return {} as ResponseObject;
    },
  });
  events.event({ type: 'accepted', index: 0, accepted: { promptTokens: 1, fingerprint: 'f' } });
  const refer = () => storeSentById.get('resp_1')?.();
  await refer();
  const ended = events.end();
  await refer();
  await ended;
  expect(stored).toEqual(['incomplete', 'completed']);
});
