import { expect, test } from 'vitest';
import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { catalogOf, modelOf } from '../../../support/catalogs.ts';

const cool = { ...modelOf('cool'), defaults: { temperature: 0.2, topP: 0.9 } };
const models = catalogDirectory(async () => catalogOf(cool, modelOf('plain')));
const messages = [{ role: 'user', content: 'hi' }];

async function samplingOf(path: string, json: object): Promise<unknown> {
  const engine = new FakeEngine();
  const { fetch } = await fakeService({ engine, models });
  expect((await fetch(path, { json })).status).toBe(200);
  const [job] = engine.jobs;
  return job?.kind === 'chat' ? job.sampling : null;
}

test.each([
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'hi' }],
  ['/v1/responses', { input: 'hi' }],
])('%s: the request’s value comes first, then the model’s, then 1', async (path, body) => {
  expect(await samplingOf(path, { model: 'plain', ...body })).toMatchObject({ temperature: 1, topP: 1 });
  expect(await samplingOf(path, { model: 'cool', ...body })).toMatchObject({ temperature: 0.2, topP: 0.9 });
  const given = { model: 'cool', temperature: 0, top_p: 0.5, ...body };
  expect(await samplingOf(path, given)).toMatchObject({ temperature: 0, topP: 0.5 });
});

test('a response names the values that were used', async () => {
  const { fetch } = await fakeService({ models });
  const answer = async (json: object) => (await fetch('/v1/responses', { json })).json();
  expect(await answer({ model: 'cool', input: 'hi' })).toMatchObject({ temperature: 0.2, top_p: 0.9 });
  expect(await answer({ model: 'plain', input: 'hi' })).toMatchObject({ temperature: 1, top_p: 1 });
});
