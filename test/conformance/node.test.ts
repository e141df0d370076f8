import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fakeService, type FakeService } from '../support/fake-service.ts';
import type { Answer, CaseRequest } from './conformance-case.ts';
import { cases } from './cases.ts';
import { toPlainRequest, toRequestInit } from './plain-request.ts';

const keys: Record<string, string> = {};
let service: FakeService;

beforeAll(async () => {
  service = await fakeService({
    issue: { limits: { requestsPerMinute: 10_000, tokensPerMinute: 10_000_000 } },
  });
  const revoked = await service.keys.issue({ label: 'revoked' });
  await service.keys.revoke(revoked.id);
  keys['good'] = service.key;
  keys['revoked'] = revoked.key;
  vi.spyOn(Date, 'now').mockReturnValueOnce(0);
  keys['expired'] = (await service.keys.issue({ label: 'expired', expiresAt: 1 })).key;
  keys['only-indigo-owl-4'] = (await service.keys.issue({ label: 'one', models: ['indigo-owl-4'] })).key;
});

async function send(request: CaseRequest): Promise<Answer> {
  const { path, ...init } = toPlainRequest(request, keys);
  const response = await service.service(new Request(`https://site.example${path}`, toRequestInit(init)));
  const text = await response.text();
  return { status: response.status, headers: Object.fromEntries(response.headers), text, sent: request };
}

describe('the pure service', () => {
  test.each(cases.map((one) => [one.name, one] as const))(
    '%s',
    async (_, { request, facts, fakeFacts = [] }) => {
      const answer = await send(request);
      for (const fact of [...facts, ...fakeFacts]) fact(answer);
    },
  );

  test('every case has its own name, and facts', () => {
    expect(new Set(cases.map((one) => one.name)).size).toBe(cases.length);
    for (const one of cases) expect(one.facts.length + (one.fakeFacts?.length ?? 0)).toBeGreaterThan(0);
  });
});

afterAll(() => expect(service.engine.running).toBe(0));
