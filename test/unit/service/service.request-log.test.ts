import { describe, expect, test, vi } from 'vitest';
import type { RequestLogEntry } from '../../../src/protocol/request-log.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { chat, fakeService } from '../../support/fake-service.ts';

const PATH = '/v1/chat/completions';

async function traced(engine = new FakeEngine()) {
  const entries: RequestLogEntry[] = [];
  const fake = await fakeService({ engine, log: (entry) => entries.push(entry), issue: { label: 'notes' } });
  return { ...fake, entries, last: () => entries.at(-1) };
}

describe('the log', () => {
  test('tells of a streamed chat as it goes on', async () => {
    const { fetch, entries, key } = await traced(new FakeEngine({ cachedTokens: 3 }));
    const response = await fetch(PATH, { ...chat({ stream: true }), headers: { 'x-request-id': 'mine' } });
    await response.text();
    const [first, ...rest] = entries;
    expect(first).toMatchObject({ requestId: 'mine', state: 'running', path: PATH, status: null });
    expect(rest.at(-1)).toMatchObject({
      state: 'done',
      keyLabel: 'notes',
      model: 'amber-phoenix-4',
      streamed: true,
      status: 200,
      error: null,
      queueMs: expect.any(Number),
      firstTokenMs: expect.any(Number),
      totalMs: expect.any(Number),
      promptTokens: 7,
      cachedTokens: 3,
      completionTokens: 4,
      responseBody: { text: 'Hello, world!', truncated: false },
    });
    expect(rest.at(-1)?.requestBody?.text).toContain('Say hello.');
    await (await fetch(PATH, { ...chat(), headers: { 'x-request-id': 'mine' } })).text();
    expect(new Set(entries.map(({ id, requestId }) => `${id} ${requestId}`))).toHaveLength(2);
    expect(JSON.stringify(entries)).not.toContain(key);
    expect(entries).toHaveLength(8);
  });

  test('holds the JSON of an answer in one piece, also of embeddings', async () => {
    const { fetch, last, entries } = await traced();
    // The clock is set back meanwhile.
    vi.spyOn(Date, 'now').mockReturnValueOnce(Date.now() + 60_000);
    const sent = await (await fetch(PATH, chat())).text();
    expect(last()).toMatchObject({ status: 200, streamed: false, responseBody: { text: sent } });
    expect(last()?.totalMs).toBeGreaterThanOrEqual(0);
    expect(entries[1]).toMatchObject({ queueMs: expect.any(Number) as number, firstTokenMs: null });
    const input = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    await fetch('/v1/embeddings', { json: { model: 'jade-mole-4', input } });
    expect(last()).toMatchObject({ state: 'done', status: 200, responseBody: { truncated: true } });
  });

  test('names what went wrong, before the headers and after them', async () => {
    const { fetch, last } = await traced(new FakeEngine({ deltas: ['a'], fail: new Error('x') }));
    await fetch('/v1/models', { key: 'lt_none' });
    expect(last()).toMatchObject({ state: 'done', status: 401, error: 'invalid_api_key', keyLabel: null });
    await fetch(PATH, chat({ temperature: 3 }));
    expect(last()).toMatchObject({ status: 400, error: 'invalid_value' });
    await (await fetch(PATH, chat({ stream: true }))).text();
    expect(last()).toMatchObject({ state: 'done', status: 200, error: 'internal_error' });
  });

  test('cuts long paths, names of models and addresses of clients', async () => {
    const { fetch, service, last } = await traced();
    await fetch(PATH, chat({ model: 'm'.repeat(1_000_000) }));
    expect(last()?.model).toHaveLength(200);
    const url = `https://site.example/${'a'.repeat(10_000)}`;
    await service(new Request(`https://site.example/v1/${'b'.repeat(10_000)}`), { id: 'c', url });
    const { path, client } = last() ?? {};
    expect([path?.length, client?.id, client?.url.length]).toEqual([200, 'c', 2048]);
  });
});
