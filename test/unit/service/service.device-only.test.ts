import { expect, test } from 'vitest';
import { SAMPLES } from '../../../src/service/endpoints.ts';
import { chat, fakeService } from '../../support/fake-service.ts';

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

/** Every endpoint that hands text to an engine. */
const endpoints: [string, { json: Record<string, unknown> }][] = [
  ...SAMPLES.map(({ path, sample }) => [path, { json: sample }] satisfies [string, object]),
  ['/v1/chat/completions', chat({ stream: true, n: 6 })],
  ['/v1/chat/completions', chat({ tools, tool_choice: 'required' })],
];

test.each(endpoints)('%s: the header, or the key, limits every job to the device', async (path, request) => {
  for (const { headers, deviceOnly, expected } of [
    { headers: {}, deviceOnly: false, expected: undefined },
    { headers: { 'localtext-route': 'device' }, deviceOnly: false, expected: true },
    { headers: {}, deviceOnly: true, expected: true },
  ]) {
    const { fetch, engine } = await fakeService({ issue: { deviceOnly } });
    const response = await fetch(path, { ...request, headers });
    await response.text();
    expect(response.status).toBe(200);
    const jobs = [...engine.jobs, ...engine.decisions];
    expect(jobs.length).toBeGreaterThan(0);
    expect(jobs.map((job) => job.deviceOnly)).toEqual(jobs.map(() => expected));
  }
});

test.each(['server', ''])('another route is an error and reaches no engine: %j', async (route) => {
  const { fetch, engine } = await fakeService();
  const response = await fetch('/v1/chat/completions', { ...chat(), headers: { 'localtext-route': route } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: 'localtext-route', code: 'invalid_value' } });
  expect(engine.jobs).toEqual([]);
});

test.each(endpoints)('%s: a header names who answers', async (path, request) => {
  const { fetch } = await fakeService();
  const response = await fetch(path, request);
  expect(response.headers.get('localtext-served-by')).toBe('fake-weights-f32-node');
  await response.text();
});

test('the limit of a key is listed, kept by `ensure`, and can be changed there', async () => {
  const { keys } = await fakeService({ issue: { label: 'issued', deviceOnly: true } });
  await keys.ensure({ label: 'own', deviceOnly: true });
  const limitOf = async (label: string) => (await keys.list()).findLast((key) => key.label === label);
  expect(await limitOf('issued')).toMatchObject({ deviceOnly: true });
  expect(await limitOf('own')).toMatchObject({ deviceOnly: true });
  await keys.ensure({ label: 'own' });
  expect(await limitOf('own')).toMatchObject({ deviceOnly: false });
});
