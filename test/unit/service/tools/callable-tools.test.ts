import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import { CallOrTextReader, CallReader } from '../../../../src/service/tools/call-reader.ts';
import { FakeEngine, QUEUE_FULL } from '../../../support/fake-engine.ts';
import { chat, fakeService } from '../../../support/fake-service.ts';
import { eventsOf } from '../../../support/server-sent-events.ts';

const PATH = '/v1/chat/completions';
const tool = (name: string, parameters?: Record<string, unknown>) => ({
  type: 'function',
  function: { name, description: `Does ${name}.`, ...(parameters ? { parameters } : {}) },
});
const weather = tool('get_weather', {
  type: 'object',
  properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
  required: ['city', 'unit'],
  additionalProperties: false,
});
const tools = [weather, tool('stop_all')];
const ARGUMENTS = '{"city":"some \\"text\\" {[ \\\\","unit":"celsius"}';

async function ask(engine: FakeEngine, extra: Record<string, unknown>) {
  const { fetch } = await fakeService({ engine });
  const response = await fetch(PATH, chat({ tools, ...extra }));
  expect(response.status).toBe(200);
  const { choices, usage } = (await response.json()) as OpenAI.ChatCompletion;
  const [choice] = choices;
  const calls = (choice?.message.tool_calls ?? []).map((call) =>
    call.type === 'function' ? [call.function.name, call.function.arguments] : [],
  );
  return { text: choice?.message.content, reason: choice?.finish_reason, calls, usage, choice };
}

const jobs = (engine: FakeEngine): ChatJob[] => engine.jobs.filter((job) => job.kind === 'chat');
/** Schema of the first job. */
const schemaOf = (engine: FakeEngine): Record<string, unknown> => {
  const constraint = jobs(engine)[0]?.constraint;
  return constraint?.kind === 'json_schema' ? JSON.parse(constraint.schema) : {};
};
const messagesOf = (engine: FakeEngine) => {
  const input = jobs(engine)[0]?.input;
  return input && 'messages' in input ? input.messages : [];
};
const freeThen = (...deltas: string[]) => new FakeEngine((job) => (job.constraint ? {} : { deltas }));

describe('a choice of tools', () => {
  test('required: the reply is held to the form of calls', async () => {
    const engine = new FakeEngine();
    const reply = await ask(engine, { tool_choice: 'required' });
    expect(reply).toMatchObject({ text: null, reason: 'tool_calls', calls: [['get_weather', ARGUMENTS]] });
    const [job] = jobs(engine);
    expect(job?.constraint?.kind).toBe('json_schema');
    expect(schemaOf(engine)).toMatchObject({ type: 'array', maxItems: 8 });
    expect(reply.choice?.message.tool_calls?.[0]?.id).toMatch(/^[A-Za-z0-9]{9}$/);
  });

  test('one function by name: no other can be called, and once', async () => {
    const engine = new FakeEngine();
    const reply = await ask(engine, { tool_choice: { type: 'function', function: { name: 'stop_all' } } });
    expect(reply).toMatchObject({ reason: 'stop', calls: [['stop_all', '{}']] });
    const schema = schemaOf(engine);
    expect(schema['maxItems']).toBe(1);
    expect(JSON.stringify(schema)).not.toContain('get_weather');
  });

  test('allowed_tools: the others are not known to the model', async () => {
    const engine = new FakeEngine();
    const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'stop_all' } }] };
    await ask(engine, { tool_choice: { type: 'allowed_tools', allowed_tools: allowed } });
    expect(JSON.stringify(jobs(engine)[0])).not.toContain('get_weather');
  });

  test('allowed_tools of other types alone: the model is told of no tools', async () => {
    const engine = new FakeEngine();
    const allowed = { mode: 'auto', tools: [{ type: 'web_search' }] };
    await ask(engine, { tool_choice: { type: 'allowed_tools', allowed_tools: allowed } });
    expect(messagesOf(engine)).toHaveLength(1);
  });

  test('parameters are an object', async () => {
    const { fetch } = await fakeService();
    for (const [type, code] of [
      ['object', 200],
      [['object', 'null'], 200],
      ['array', 400],
      [['string', 'null'], 400],
    ] as const) {
      const json = chat({ tools: [tool('f', { type })] });
      expect([type, (await fetch(PATH, json)).status]).toEqual([type, code]);
    }
  });

  test('none: the model is told of no tools', async () => {
    const engine = new FakeEngine();
    const reply = await ask(engine, { tool_choice: 'none' });
    expect(reply).toMatchObject({ text: 'Hello, world!', reason: 'stop', calls: [] });
    expect(JSON.stringify(jobs(engine)[0])).not.toContain('get_weather');
  });

  test('auto: words stay words', async () => {
    const engine = new FakeEngine();
    expect(await ask(engine, {})).toMatchObject({ text: 'Hello, world!', reason: 'stop', calls: [] });
    expect(jobs(engine)).toHaveLength(1);
    expect(JSON.stringify(jobs(engine)[0]?.input)).toContain('get_weather');
  });

  test.each([
    ['the mark', 'Let me see. <tool', '_call>\n[{"na'],
    ['a list without the mark', 'Let me see. ', '[{"name": "get_w', 'eather", "arguments"'],
    ['a call without a list', 'Let me see. ', '{"name":"get_weather"'],
    ['a block of code', 'Let me see. ', '```json\n', '{"name": "get_weather"'],
    ['a list over lines', 'Let me see. ', '[\n  {\n    "name"', ' : "get_weather"'],
    ['a block of code over lines', 'Let me see. ', '```json\n{\n  ', '"name": "get_weather"'],
    ['an object with a type', 'Let me see. ', '{"type": "function",', ' "name": "get_weather"'],
    ['arguments before the name', 'Let me see. ', '{"arguments": ', '{"city"'],
    ['Cohere’s form', 'Let me see. ', '[{"tool_name": ', '"get_weather"'],
    ['LFM2’s form', 'Let me see. ', '[get_w', 'eather(city='],
    ['Mistral’s form', 'Let me see. ', 'get_weather', '{"city"'],
    ['Gemma’s form', 'Let me see. ', 'call:get_', 'weather{city:'],
    ['Kimi’s form', 'Let me see. ', 'functions.get_weather', ':0'],
    ['Llama’s form', 'Let me see. ', '<function=get_weather', '>{'],
  ])('auto: %s begins a call', async (_, ...deltas) => {
    const engine = freeThen(...deltas, ' never shown');
    const reply = await ask(engine, { max_tokens: 100 });
    expect(reply).toMatchObject({
      text: 'Let me see. ',
      reason: 'tool_calls',
      calls: [['get_weather', ARGUMENTS]],
    });
    const [free, held] = jobs(engine);
    expect(free?.constraint).toBeUndefined();
    expect(held?.maxTokens).toBe(100 - deltas.length);
    expect(reply.usage?.completion_tokens).toBeGreaterThan(deltas.length);
    expect(reply.usage?.prompt_tokens).toBe(7);
    expect([engine.running, new Set(engine.ids).size]).toEqual([0, 2]);
  });

  test('auto: JSON that is about something else stays text', async () => {
    const text = '{"name": "Ada", "arguments": 3}';
    expect(await ask(freeThen(text), {})).toMatchObject({ text, calls: [] });
  });

  test('auto with a response format: calls or that form, whichever is written', async () => {
    const schema = { type: 'object', properties: { next: { $ref: '#' } } };
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema } };
    const called = await ask(new FakeEngine(), { response_format });
    expect(called).toMatchObject({ text: null, calls: [['get_weather', ARGUMENTS]] });
    const engine = new FakeEngine({ deltas: [' ', '{"next"', ':{}}'] });
    const answered = await ask(engine, { response_format });
    expect(answered).toMatchObject({ text: ' {"next":{}}', reason: 'stop', calls: [] });
    expect(JSON.stringify(schemaOf(engine))).toContain('"next":{"$ref":"#/$defs/answer"}');
  });

  test('references inside the parameters still point to them', async () => {
    const engine = new FakeEngine();
    const node = tool('insert', {
      properties: {
        left: { $ref: '#/$defs/node' },
        const: { $ref: '#' },
        data: { enum: [{ $ref: '#/data' }], const: { $ref: '#/data' } },
      },
      $defs: { node: { type: 'object', properties: { value: { type: 'integer' } } } },
    });
    const reply = await ask(engine, { tools: [weather, node], tool_choice: 'required' });
    expect(reply.reason).toBe('tool_calls');
    const text = JSON.stringify(schemaOf(engine));
    expect(text).toContain('{"$ref":"#/$defs/arguments.insert"}');
    expect(text).toContain('"left":{"$ref":"#/$defs/arguments.insert/$defs/node"}');
    expect(text).toContain('"const":{"$ref":"#/$defs/arguments.insert"}');
    // Data that looks like a reference stays.
    expect(text).toContain('"data":{"enum":[{"$ref":"#/data"}],"const":{"$ref":"#/data"}}');
  });

  test('a function called `answer` keeps its own parameters beside a response format', async () => {
    const engine = new FakeEngine({ deltas: ['{}'] });
    const parameters = { type: 'object', properties: { next: { $ref: '#' }, own: { type: 'integer' } } };
    const schema = { type: 'object', properties: { form: { type: 'string' } } };
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema } };
    await ask(engine, { tools: [tool('answer', parameters)], response_format });
    const text = JSON.stringify(schemaOf(engine)['$defs']);
    expect(text).toContain('"own"');
    expect(text).toContain('"form"');
  });

  test('none: parameters that could not be enforced are accepted', async () => {
    const parameters = { type: 'object', properties: { a: { enum: Array.from({ length: 300 }, String) } } };
    const reply = await ask(new FakeEngine(), { tools: [tool('f', parameters)], tool_choice: 'none' });
    expect(reply.calls).toEqual([]);
  });

  test('a call that max_tokens cuts off says length', async () => {
    const reply = await ask(new FakeEngine(), { tool_choice: 'required', max_tokens: 20 });
    expect(reply.reason).toBe('length');
    expect(reply.calls[0]?.[0]).toBe('get_weather');
    expect(ARGUMENTS.startsWith(reply.calls[0]?.[1] ?? 'none')).toBe(true);
  });

  test.each([
    ['words', 'I cannot.', {}, 'I cannot.', 'stop'],
    [
      'words of a server that was to call a function by its name',
      'No.',
      { tool_choice: { type: 'function', function: { name: 'stop_all' } } },
      'No.',
      'stop',
    ],
    ['a list that is cut off', '[Note] Of {braces} I', { max_tokens: 1 }, '', 'length'],
    ['an answer that is cut off', 'I can', { max_tokens: 1 }, 'I can', 'length'],
    ['other JSON', '{"city": "Rome"}', {}, '{"city": "Rome"}', 'stop'],
    ['a call without arguments', '[{"name": "stop_all"}]', {}, '[{"name": "stop_all"}]', 'stop'],
    [
      'a name with a line end',
      '[{"name": "stop\n_all", "arguments": {}}]',
      {},
      '[{"name": "stop\n_all", "arguments": {}}]',
      'stop',
    ],
    [
      'a name with an escape that is none',
      '[{"name": "stop\\_all", "arguments": {}}]',
      {},
      '[{"name": "stop\\_all", "arguments": {}}]',
      'stop',
    ],
    ['nothing', '', {}, '', 'stop'],
  ] as const)('required, and the form is ignored: %s', async (_, written, extra, text, reason) => {
    const engine = new FakeEngine({ deltas: [written, ...(reason === 'length' ? [' more'] : [])] });
    const reply = await ask(engine, { tool_choice: 'required', ...extra });
    expect(reply).toMatchObject({ text, reason, calls: [] });
  });

  test('stop sequences end words, not calls', async () => {
    expect(await ask(freeThen('one', ' STOP', ' two'), { stop: ['STOP'] })).toMatchObject({
      text: 'one ',
      reason: 'stop',
    });
    const called = await ask(new FakeEngine(), { tool_choice: 'required', stop: ['celsius'] });
    expect(called.calls).toEqual([['get_weather', ARGUMENTS]]);
  });
});

test.each([
  [undefined, false],
  [{ type: 'object', properties: {} }, false],
  [{ title: 'now', properties: {}, required: [] }, false],
  [{ type: 'object' }, false],
  [{}, false],
  [{ type: 'object', properties: {}, required: ['city'] }, undefined],
  [{ type: 'object', properties: {}, minProperties: 1 }, undefined],
  [{ type: 'object', properties: {}, additionalProperties: true }, true],
])('arguments of %j: of other names %j', async (parameters, additionalProperties) => {
  const engine = new FakeEngine();
  await ask(engine, { tools: [tool('now', parameters)], tool_choice: 'required' });
  const { $defs } = schemaOf(engine) as { $defs: Record<string, Record<string, unknown>> };
  expect($defs['arguments.now']?.['additionalProperties']).toBe(additionalProperties);
});

test('parameters that an engine cannot enforce are a fault of the tools', async () => {
  const refuse = new ServiceError({
    status: 400,
    type: 'invalid_request_error',
    code: 'unsupported_value',
    param: 'response_format',
    message: 'The response format cannot be enforced.',
  });
  const { fetch } = await fakeService({ engine: new FakeEngine({ refuse }) });
  const refused = async (extra: Record<string, unknown>) =>
    (await (await fetch(PATH, chat(extra))).json()).error;
  expect(await refused({ tools, tool_choice: 'required' })).toMatchObject({
    param: 'tools',
    message: expect.stringContaining('`tools`') as string,
  });
  const response_format = { type: 'json_object' };
  expect(await refused({ response_format })).toMatchObject({ param: 'response_format' });
});

test('the schemas of all tools together are bounded with strict', async () => {
  const { fetch } = await fakeService();
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`p${index}`, { type: 'string' }]),
  );
  const parameters = {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  const many = (length: number, strict: boolean) =>
    Array.from({ length }, (_, index) => ({
      type: 'function',
      function: { name: `f${index}`, parameters, strict },
    }));
  expect((await fetch(PATH, chat({ tools: many(10, true) }))).status).toBe(200);
  expect((await fetch(PATH, chat({ tools: many(60, false) }))).status).toBe(200);
  const response = await fetch(PATH, chat({ tools: many(60, true) }));
  expect(response.status).toBe(400);
  expect((await response.json()).error.param).toMatch(/^tools\[\d+\]\.function\.parameters/);
});

describe('streamed', () => {
  const stream = async (engine: FakeEngine, extra: Record<string, unknown>) => {
    const { fetch } = await fakeService({ engine });
    const response = await fetch(PATH, chat({ tools, stream: true, ...extra }));
    return eventsOf(await response.text())
      .filter((event) => event !== '[DONE]')
      .map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk);
  };
  const deltas = (chunks: OpenAI.ChatCompletionChunk[]) =>
    chunks.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.tool_calls ?? []);

  test('words, then several calls, each with its index', async () => {
    const calls = '[{"name":"stop_all","arguments":{}} , {"name":"get_weather","arguments":{"city":"Rome"}}]';
    const engine = new FakeEngine((job) => ({
      deltas: job.constraint ? [...calls] : ['Well', '<tool_call>'],
    }));
    const chunks = await stream(engine, {});
    const pieces = deltas(chunks);
    expect(pieces.filter(({ id }) => id).map(({ index, function: called }) => [index, called?.name])).toEqual(
      [
        [0, 'stop_all'],
        [1, 'get_weather'],
      ],
    );
    const written = (call: number) =>
      pieces
        .filter(({ index }) => index === call)
        .map((piece) => piece.function?.arguments)
        .join('');
    expect([written(0), written(1)]).toEqual(['{}', '{"city":"Rome"}']);
    expect(new Set(pieces.flatMap(({ id }) => id ?? [])).size).toBe(2);
    expect(chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? []).join('')).toBe('Well');
  });

  test('a call that meets a full queue waits for its turn', async () => {
    const engine = new FakeEngine((job, index) =>
      job.constraint ? (index < 3 ? { refuse: QUEUE_FULL } : {}) : { deltas: ['<tool_call>'] },
    );
    expect(deltas(await stream(engine, {})).length).toBeGreaterThan(2);
    expect(engine.jobs).toHaveLength(4);
  });
});

const stopAll = { id: 'call_1', type: 'function', function: { name: 'stop_all', arguments: '{}' } };

test('results of tools reach the engine after the calls that they answer', async () => {
  const engine = new FakeEngine();
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Stop.' },
    { role: 'assistant', content: null, tool_calls: [stopAll] },
    { role: 'tool', content: 'stopped', tool_call_id: 'call_1' },
  ];
  await ask(engine, { messages });
  const sent = messagesOf(engine);
  expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(sent[0]?.content).toMatch(/^Be brief\.\n\n.*get_weather/s);
});

const MANY = { functions: [], isNamed: false, maxCalls: 8 };

test('a call without words, and a result without parts, as LangChain sends them', async () => {
  const engine = new FakeEngine();
  const messages = [
    { role: 'user', content: 'Stop.' },
    { role: 'assistant', content: [], tool_calls: [stopAll] },
    { role: 'tool', content: [], tool_call_id: 'call_1' },
  ];
  await ask(engine, { messages });
  expect(messagesOf(engine).slice(-2)).toMatchObject([{ content: '' }, { role: 'tool', content: '' }]);
});

test('the reader parses a list however it is split', () => {
  const list =
    ' [ {"name" : "a\\"b", "arguments": {"x":[1,{"y":"}]"}]}},\n{"name":"c","arguments":[]}, {"name":"d","arguments":7}]';
  for (const size of [1, 2, 3, 7, 500]) {
    const reader = new CallReader(MANY);
    const parts = (list.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []).flatMap((piece) => reader.push(piece));
    const names = parts.flatMap((part) => (part.type === 'call' ? [part.tool.name] : []));
    const written = [0, 1, 2].map((call) =>
      parts.flatMap((part) => (part.type === 'arguments' && part.call === call ? [part.text] : [])).join(''),
    );
    expect(names).toEqual(['a"b', 'c', 'd']);
    expect(written).toEqual(['{"x":[1,{"y":"}]"}]}', '[]', '7']);
  }
});

// Searched from its beginning at each delta, it would take minutes.
test('a long text where a call is due is passed on in linear time', () => {
  const reader = new CallReader(MANY);
  const pieces = Array.from({ length: 500_000 }, (_, index) => (index % 2 === 0 ? 'word ' : '{ '));
  expect(pieces.flatMap((piece) => reader.push(piece))).toEqual([]);
  expect(reader.flush('stop')).toEqual([{ type: 'text', text: pieces.join(''), logprobs: [] }]);
});

test('spaces where an answer or a call is due are passed on once there are thousands', () => {
  const reader = new CallOrTextReader([], { ...MANY, functions: [], mustCall: false });
  const spaces = Array.from({ length: 5000 }, () => ' ');
  const parts = spaces.flatMap((space) => reader.push(space));
  expect(parts.map((part) => (part.type === 'text' ? part.text : part.type)).join('')).toBe(spaces.join(''));
});

test('calls beyond the most allowed are left out, however they are split', () => {
  const list = '[{"name":"a","arguments":{}}, {"name":"b","arguments":{"x":1}}]';
  for (const size of [1, 7, 500]) {
    const reader = new CallReader({ ...MANY, maxCalls: 1 });
    const parts = (list.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []).flatMap((piece) => reader.push(piece));
    expect(parts.flatMap((part) => (part.type === 'call' ? [part.tool.name] : []))).toEqual(['a']);
    expect(parts.map((part) => (part.type === 'arguments' ? part.text : '')).join('')).toBe('{}');
    expect(reader.flush('stop')).toEqual([]);
  }
});

test('calls of any length are read from one piece', () => {
  const call = (text: string) => ({ name: 'f', arguments: { text } });
  const parts = new CallReader(MANY).push(JSON.stringify([call('a'.repeat(9000)), call('b')]));
  const written = parts.flatMap((part) =>
    part.type === 'arguments' ? [JSON.parse(part.text) as unknown] : [],
  );
  expect(written).toEqual([{ text: 'a'.repeat(9000) }, { text: 'b' }]);
});
