import { expect, test } from 'vitest';
import { SAMPLING, type Sampling } from '../../../src/jobs/sampling.ts';
import { toUpstreamRequest } from '../../../src/routing/upstream/upstream-request.ts';
import { completionRequest } from '../../../src/engines/wllama/completion-format.ts';
import { ClientText } from '../../../src/chat-template/client-text.ts';
import { toWebLlmRequest } from '../../../src/engines/web-llm/web-llm-request.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { fakeService } from '../../support/fake-service.ts';

/** Every parameter, with a value that is not its default. */
const parameters = (Object.keys(SAMPLING) as (keyof Sampling)[]).map((parameter) => {
  const described = SAMPLING[parameter];
  const value = 'range' in described ? described.range[1] / 2 : parameter === 'seed' ? 7 : { 5: -1 };
  return { parameter, name: described.name, value };
});

const job = (parameter: string, value: unknown) => ({
  kind: 'chat' as const,
  model: 'm',
  input: { messages: [{ role: 'user' as const, content: 'hi' }] },
  sampling: { temperature: 1, topP: 1, [parameter]: value },
});

test.each(parameters)('$name reaches the job', async ({ parameter, name, value }) => {
  for (const [path, body] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/completions', { prompt: 'hi' }],
  ] as const) {
    const engine = new FakeEngine();
    const { fetch } = await fakeService({ engine });
    const model = 'amber-phoenix-4';
    expect((await fetch(path, { json: { model, ...body, [name]: value } })).status).toBe(200);
    expect(engine.jobs[0]).toMatchObject({ sampling: { [parameter]: value } });
  }
});

test.each(parameters)('$name reaches llama.cpp', ({ parameter, name, value }) => {
  const { sampling } = job(parameter, value);
  const sent = name === 'logit_bias' ? [[5, -1]] : value;
  expect(completionRequest({ prompt: 'Once' }, sampling, {})[name]).toEqual(sent);
});

test.each(parameters)('$name reaches an upstream server', ({ parameter, name, value }) => {
  expect(toUpstreamRequest(job(parameter, value), 'theirs').body).toMatchObject({ [name]: value });
});

test.each(parameters)('$name reaches web-llm, or is refused by name', ({ parameter, name, value }) => {
  const config = { vocab_size: 256, conv_template: { roles: {} } } as Parameters<typeof toWebLlmRequest>[1];
  const send = () => toWebLlmRequest(job(parameter, value), config, new ClientText([])).input;
  const refused = { wire: { status: 400, param: name, code: 'unsupported_value' } };
  try {
    expect(send()).toMatchObject({ chat: { [name]: value } });
  } catch (error) {
    if (!(error instanceof Error && 'wire' in error)) throw error;
    expect(error).toMatchObject(refused);
  }
});
