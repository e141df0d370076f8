import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';

import type { EngineRequester } from '../../../../src/protocol/service-dependencies.ts';
import type { DecisionEvent, DecisionJob } from '../../../../src/jobs/decision.ts';
import type { Job } from '../../../../src/jobs/kinds.ts';
import { upstreamModel } from '../../../support/upstream-model.ts';

const upstream = upstreamModel({
  kind: 'chat',
  engine: 'wllama',
  path: 'a.gguf',
  theirName: 'gpt-6-luna',
  read: (path, _, sent) => ({ path, body: JSON.parse(sent.toString()) as unknown }),
});
let onDevice: DecisionJob[];

beforeEach(() => {
  onDevice = [];
});

const device: EngineRequester = {
  async *run(given: Job) {
    if (given.kind !== 'decision') throw new Error('the device decides alone');
    onDevice.push(given);
    const progress = { answers: [[0.25]], promptTokens: 1, cachedTokens: 0, labelTokens: 0 };
    yield { type: 'done', progress, fingerprint: 'device', timings: { queueMs: 0, computeMs: 0 } };
  },
};

const body = {
  model: 'm',
  input: [{ role: 'user', content: 'Hello' }],
  questions: [{ type: 'predicate', name: 'a', instructions: 'It is a greeting.' }],
  prompt_cache_key: 'k',
};
const job: DecisionJob = {
  kind: 'decision',
  model: 'm',
  input: { text: 'Hello' },
  questions: [{ type: 'predicate', instructions: 'It is a greeting.', options: [] }],
  request: body,
};

/** Asks a model on a server, behind which there is one on the device. */
async function decide(
  extra: Partial<DecisionJob> = {},
  { model: catalogModel, engine } = upstream.connect(device),
): Promise<Extract<DecisionEvent, { type: 'done' }>> {
  const model = { id: 'm', kind: 'chat' as const, created: 0, ownedBy: 'us', defaults: {}, catalogModel };
  const request = { id: 'r', signal: new AbortController().signal, model };
  for await (const event of engine.run({ ...job, ...extra }, request))
    if (event.type === 'done') return event;
  throw new Error('no answers came');
}

const send = (told: unknown) => (response: ServerResponse) =>
  response.setHeader('content-type', 'application/json').end(JSON.stringify(told));

test('a server gets the request as it is, under its own name of the model', async () => {
  upstream.answer = send({
    model: 'gpt-6-luna',
    answers: [{ type: 'predicate', name: 'a', probability: 0.75 }],
    usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 2 }, output_tokens: 0 },
  });
  const result = await decide();
  expect(result).toMatchObject({
    progress: { answers: [[0.75]], promptTokens: 9, cachedTokens: 2, labelTokens: 0 },
    fingerprint: 'theirs-upstream',
    timings: { queueMs: 0, computeMs: expect.any(Number) as number },
  });
  expect(upstream.asked).toEqual([{ path: '/v1/decisions', body: { ...body, model: 'gpt-6-luna' } }]);
});

test('a refusal of the server is one', async () => {
  upstream.answer = send({ answers: [{ type: 'refusal', name: 'a' }] });
  const { progress } = await decide();
  expect(progress.answers).toEqual([null]);
  expect(progress.promptTokens).toBeGreaterThan(0);
});

test.each([
  ['fewer answers', { answers: [] }],
  ['an answer of another type', { answers: [{ type: 'choice', probabilities: [{ probability: 1 }] }] }],
  ['a probability above 1', { answers: [{ type: 'predicate', probability: 2 }] }],
  ['another shape', { choices: [] }],
])('the device answers after a server that sends %s', async (_, sent) => {
  upstream.answer = send(sent);
  expect((await decide()).fingerprint).toBe('device');
  expect(onDevice).toHaveLength(1);
});

test('probabilities that a server sorts belong to their choices and levels', async () => {
  const options = (...labels: string[]) => labels.map((label) => ({ label }));
  upstream.answer = send({
    answers: [
      {
        type: 'choice',
        probabilities: [
          { value: true, probability: 0.7 },
          { value: 'a', probability: 0.3 },
        ],
      },
      {
        type: 'score',
        probabilities: [
          { label: '1', value: 0, probability: 0.2 },
          { label: '0', value: 1, probability: 0.8 },
        ],
      },
    ],
  });
  const { progress } = await decide({
    questions: [
      { type: 'choice', instructions: 'Which?', options: options('a', 'true') },
      { type: 'score', instructions: 'How?', options: options('0', '1') },
    ],
  });
  expect(progress.answers).toEqual([
    [0.3, 0.7],
    [0.8, 0.2],
  ]);
});

test('the device answers after a server that sends probabilities of other choices', async () => {
  upstream.answer = send({
    answers: [
      {
        type: 'choice',
        probabilities: [
          { value: 'a', probability: 0.5 },
          { value: 'c', probability: 0.5 },
        ],
      },
    ],
  });
  const options = [{ label: 'a' }, { label: 'b' }];
  const { fingerprint } = await decide({ questions: [{ type: 'choice', instructions: 'Which?', options }] });
  expect(fingerprint).toBe('device');
});

test.each([404, 405, 501])(
  'a server without decisions (%i) counts as healthy, and is asked again',
  async (status) => {
    const connected = upstream.connect(device);
    upstream.answer = (response) => response.writeHead(status).end();
    expect((await decide({}, connected)).fingerprint).toBe('device');
    upstream.answer = send({ answers: [{ type: 'predicate', probability: 0.75 }] });
    expect((await decide({}, connected)).fingerprint).toBe('theirs-upstream');
  },
);

test('a request for the device alone is sent to no server', async () => {
  upstream.answer = send({});
  expect((await decide({ deviceOnly: true })).fingerprint).toBe('device');
  expect(upstream.asked).toEqual([]);
});
