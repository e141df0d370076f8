import { expect, test } from 'vitest';

import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { Random } from '../../../chaos/random.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { exactText } from '../../../support/grammar/exact-texts.ts';

/** Schemas and arguments of a request keep the texts of numbers and the order of names. */

const SCHEMA =
  '{"type":"object","properties":{"id":{"const":2512292042121000001},"2":{"enum":[1.0,-0,1e400]},"1":{"type":"integer","minimum":1.0,"maximum":9223372036854775807,"default":9007199254740993,"examples":[1.50]}},"required":["id","2","1"],"additionalProperties":false}';

const MODEL = '"model":"amber-phoenix-4"';
const MESSAGES = '"messages":[{"role":"user","content":"\\"{[ Go."}]';
const INPUT = '"input":"\\"{[ Go."';

async function jobOf(path: string, body: string): Promise<ChatJob> {
  const engine = new FakeEngine();
  const { fetch } = await fakeService({ engine });
  const response = await fetch(path, { method: 'POST', body });
  expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, '']);
  return engine.jobs.find((job) => job.kind === 'chat') as ChatJob;
}

const schemaOf = ({ constraint }: ChatJob): string =>
  constraint?.kind === 'json_schema' ? constraint.schema : '';
const promptOf = ({ input }: ChatJob): string =>
  'messages' in input ? input.messages.map(({ content }) => content).join('\n') : '';

const CHAT = '/v1/chat/completions';
const REPLY_SCHEMAS: [path: string, (schema: string) => string][] = [
  [
    CHAT,
    (schema) =>
      `{${MODEL},${MESSAGES},"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":${schema}}}}`,
  ],
  [CHAT, (schema) => `{"guided_json": ${schema}, ${MODEL}, ${MESSAGES}}`],
  [CHAT, (schema) => `{"json_schema":${schema},${MODEL},${MESSAGES}}`],
  [CHAT, (schema) => `{${MODEL},"structured_outputs":{"json":${schema}},${MESSAGES}}`],
  [CHAT, (schema) => `{${MODEL},${MESSAGES},"response_format":{"type":"json_object","schema":${schema}}}`],
  [CHAT, (schema) => `{${MODEL},${MESSAGES},"response_format":{"value":${schema},"type":"json_object"}}`],
  [
    '/v1/responses',
    (schema) =>
      `{${MODEL},${INPUT},"text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":${schema}}}}`,
  ],
];

test.each(REPLY_SCHEMAS)('a reply of %s: %s', async (path, body) => {
  expect(schemaOf(await jobOf(path, body(SCHEMA)))).toBe(SCHEMA);
});

const TOOLS: [path: string, (schema: string) => string][] = [
  [
    CHAT,
    (schema) =>
      `{${MODEL},${MESSAGES},"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
  ],
  [
    CHAT,
    (schema) =>
      `{${MODEL},${MESSAGES},"function_call":{"name":"f"},"functions":[{"name":"f","parameters":${schema}}]}`,
  ],
  [
    '/v1/responses',
    (schema) =>
      `{${MODEL},${INPUT},"tool_choice":"required","tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
  ],
];

test.each(TOOLS)('parameters of a function, to the grammar and the prompt: %s %s', async (path, body) => {
  const job = await jobOf(path, body(SCHEMA));
  expect(schemaOf(job)).toContain(SCHEMA);
  expect(promptOf(job)).toContain(`"parameters":${SCHEMA}`);
});

test.each([false, true])('a response repeats them, streamed: %s', async (stream) => {
  const { fetch } = await fakeService();
  const tool = `{"type":"function","name":"f","parameters":${SCHEMA},"description":null,"strict":false}`;
  const format = `{"type":"json_schema","name":"a","schema":${SCHEMA},"strict":true}`;
  const metadata = '"metadata":{"10":"a","__proto__":"c","2":"b"}';
  const body = `{${MODEL},${INPUT},"tools":[${tool}],"text":{"format":${format}},${metadata},"stream":${stream}}`;
  const text = await (await fetch('/v1/responses', { method: 'POST', body })).text();
  const [id = ''] = /resp_[\w-]+/.exec(text) ?? [];
  const kept = await (await fetch(`/v1/responses/${id}`)).text();
  const replayed = await (await fetch(`/v1/responses/${id}?stream=true`)).text();
  for (const answer of [text, kept, replayed]) {
    expect(answer).toContain(`"parameters":${SCHEMA}`);
    expect(answer).toContain(`"schema":${SCHEMA}`);
    expect(answer).toContain(metadata);
  }
});

test('60 generated schemas', async () => {
  const random = new Random(20_261_128);
  for (let index = 0; index < 60; index++) {
    const value = exactText(random);
    const schema = `{"type":"object","properties":{"9":{"const":${value}},"8":{"default":${value}}}}`;
    for (const [path, body] of [...REPLY_SCHEMAS, ...TOOLS].slice(index % 3, (index % 3) + 1)) {
      const loose = body(schema).replace('"strict":true,', '');
      expect(schemaOf(await jobOf(path, loose))).toContain(schema);
    }
  }
});

test('a number that is not one a keyword takes is refused by its place', async () => {
  const { fetch } = await fakeService();
  for (const [schema, place] of [
    ['{"minLength":1e400}', '.minLength'],
    ['{"minLength":1.50}', '.minLength'],
    ['{"multipleOf":0.0}', '.multipleOf'],
    ['{"properties":1.0}', '.properties'],
    ['{"pattern":1.0}', '.pattern'],
    ['1.0', ''],
  ]) {
    const response = await fetch(CHAT, {
      method: 'POST',
      body: `{${MODEL},${MESSAGES},"json_schema":${schema}}`,
    });
    expect(response.status).toBe(400);
    expect((await response.json()).error.param).toBe(`json_schema${place}`);
  }
  const body = `{${MODEL},${MESSAGES},"json_schema":{"minLength":1.0,"maxLength":2e0,"multipleOf":1e-2}}`;
  expect((await fetch(CHAT, { method: 'POST', body })).status).toBe(200);
});

test.each([
  ['"seed":36893488147419103233', 'seed', '36893488147419103233'],
  ['"temperature":1e400', 'temperature', '1e400, which is too large,'],
  ['"max_tokens":2.50', 'max_tokens', '2.50'],
  ['"max_tokens":-9007199254740993', 'max_tokens', '-9007199254740993'],
  ['"logit_bias":{"7":9007199254740993}', 'logit_bias.7', '9007199254740993'],
])('an error shows the number as it was sent: %s', async (fields, param, number) => {
  const { fetch } = await fakeService();
  const response = await fetch(CHAT, { method: 'POST', body: `{${MODEL},${MESSAGES},${fields}}` });
  const { error } = await response.json();
  expect(error).toMatchObject({ param, message: expect.stringContaining(`${number} was given`) });
});

test('an error of a body that is not JSON names the place', async () => {
  const { fetch } = await fakeService();
  const response = await fetch(CHAT, { method: 'POST', body: `{${MODEL},\n${MESSAGES},}` });
  expect((await response.json()).error.message).toContain('not valid JSON at line 2, column 51');
});
