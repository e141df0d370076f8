import { expect, test } from 'vitest';

import { bodies } from '../../conformance/unknown-value-cases.ts';
import { fakeService } from '../../support/fake-service.ts';

const model = 'amber-phoenix-4';

/** Bodies with the fields of each endpoint. */
const BODIES: readonly { path: string; json: unknown }[] = [
  ...bodies,
  {
    path: '/v1/chat/completions',
    json: {
      model,
      messages: [{ role: 'user', content: 'Hi', name: 'bob' }],
      max_tokens: 1,
      temperature: 0,
      top_p: 0.5,
      n: 1,
      stop: ['a'],
      seed: 1,
      logit_bias: { 1: 2 },
      logprobs: true,
      top_logprobs: 2,
      presence_penalty: 0.1,
      frequency_penalty: 0.1,
      metadata: { a: 'b' },
      prediction: { type: 'content', content: 'x' },
      verbosity: 'low',
    },
  },
  {
    path: '/v1/completions',
    json: { model, prompt: ['Hi'], max_tokens: 1, logprobs: 1, stop: 'x', suffix: 'x', n: 1 },
  },
  {
    path: '/v1/rerank',
    json: { model: 'jade-mole-4', query: 'q', documents: ['a', { text: 'b' }], top_n: 1 },
  },
  {
    path: '/v1/audio/speech',
    json: { model, input: 'Hi', voice: 'alloy', response_format: 'wav', speed: 1 },
  },
];

/** Values of other types, as JSON: numbers beyond what JavaScript has, half a character, the names of a prototype. */
const VALUES = [
  'true',
  '-1',
  '1e400',
  '9007199254740993',
  '"\\ud800"',
  '[]',
  '[null]',
  '{"__proto__":{"toString":1}}',
];

type Json = Record<string, unknown>;

/** Each body with one value, at any depth, replaced. */
function* altered(value: unknown, other: string, at = ''): Generator<{ path: string; json: string }> {
  if (at !== '') yield { path: at, json: other };
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value as Json)) {
    const path = isList ? `${at}[${key}]` : at === '' ? key : `${at}.${key}`;
    for (const inner of altered(item, other, path)) {
      const members = Object.entries(value as Json).map(([name, each]) => {
        const json = name === key ? inner.json : JSON.stringify(each);
        return isList ? json : `${JSON.stringify(name)}:${json}`;
      });
      yield { path: inner.path, json: isList ? `[${members.join()}]` : `{${members.join()}}` };
    }
  }
}

test('a value of another type is refused by an error that names its field and what is allowed, or is served', async () => {
  const limits = { requestsPerMinute: 1e9, tokensPerMinute: 1e12 };
  const { fetch } = await fakeService({ issue: { limits } });
  const faults: string[] = [];
  for (const { path: url, json: body } of BODIES)
    for (const value of VALUES)
      for (const { path, json } of altered(body, value)) {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(url, { method: 'POST', headers, body: json });
        if (answer.status === 200) {
          await answer.body?.cancel();
          continue;
        }
        const { error } = (await answer.json()) as { error: { message: string; param: string | null } };
        const field = path.replace(/[.[].*/, '');
        const isNamed =
          error.param !== null && error.message.includes(error.param) && error.message.length > 20;
        const wrong =
          value === '1e400' ? /Invalid input|never|null was/ : /Invalid input|undefined|never|\[object|NaN/;
        const says = !wrong.test(error.message);
        if (![400, 404].includes(answer.status) || !isNamed || !says)
          faults.push(`${url} ${path} = ${value}: ${answer.status} ${field} ${JSON.stringify(error)}`);
      }
  expect(faults).toEqual([]);
});
