import { expect } from 'vitest';
import type { CaseRequest, ConformanceCase, Fact } from './conformance-case.ts';
import {
  badRequest,
  check,
  error,
  foreignField,
  header,
  modelNotFound,
  ON_OR_OFF,
  rateLimitHeaders,
  says,
  status,
} from './facts.ts';

const path = '/v1/responses';
const base = { model: 'amber-phoenix-4', input: 'Say hello.', max_output_tokens: 4, temperature: 0 };
const light = { type: 'function', name: 'light', description: 'Switches the light.', parameters: ON_OR_OFF };
const user = { role: 'user', content: 'Switch the light on.' };

const raw = (name: string, request: CaseRequest, ...facts: Fact[]): ConformanceCase => ({
  name: `responses: ${name}`,
  request,
  facts,
});
const of = (name: string, extra: Record<string, unknown>, ...facts: Fact[]): ConformanceCase =>
  raw(name, { path, json: { ...base, ...extra } }, ...facts);
const bad = (name: string, extra: Record<string, unknown>, param: string, code?: string) =>
  of(name, extra, badRequest(param, code));
const notFound = error(404, 'invalid_request_error', null, null);

const echoed = {
  user: 'u',
  metadata: { a: 'b' },
  safety_identifier: 's',
  prompt_cache_key: 'k',
  max_tool_calls: 3,
};

interface Item {
  type: string;
  id: string;
  status: string;
  name?: string;
  arguments?: string;
  content?: { type: string; text: string }[];
}

const response = (...more: ((json: Record<string, unknown>, items: Item[]) => void)[]): Fact[] => [
  status(200),
  header('content-type', 'application/json'),
  rateLimitHeaders,
  check((json) => {
    expect(json).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response',
      model: 'amber-phoenix-4',
      error: null,
      status: expect.stringMatching(/^(completed|incomplete)$/),
    });
    expect(json['incomplete_details']).toEqual(
      json['status'] === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    );
    const usage = json['usage'] as Record<string, number>;
    expect(usage['total_tokens']).toBe((usage['input_tokens'] ?? 0) + (usage['output_tokens'] ?? 0));
    const items = json['output'] as Item[];
    expect(items.length).toBeGreaterThan(0);
    for (const fact of more) fact(json, items);
  }),
];

const message = (_: unknown, items: Item[]) => {
  expect(items[0]).toMatchObject({ type: 'message', role: 'assistant', id: expect.stringMatching(/^msg_/) });
  expect(items[0]?.content?.[0]).toMatchObject({ type: 'output_text', annotations: [] });
};

interface Event {
  type: string;
  sequence_number: number;
  delta?: string;
  text?: string;
  arguments?: string;
  response?: { status: string; output: Item[] };
}

const eventsOf = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [, type, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
      const event = JSON.parse(data ?? '') as Event;
      expect(event.type).toBe(type);
      return event;
    });

/** Every rule of the order of the typed events. */
const stream =
  (deltas: string, done: string, ...between: string[]): Fact =>
  (answer) => {
    status(200)(answer);
    header('content-type', 'text/event-stream')(answer);
    const events = eventsOf(answer.text);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const types = events
      .map(({ type }) => type)
      .filter((type, index, all) => type !== all[index - 1] || type !== deltas);
    expect(types.slice(0, -1)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      ...between,
    ]);
    expect(types.at(-1)).toMatch(/^response\.(completed|incomplete)$/);
    const written = events.flatMap((event) => (event.type === deltas ? [event.delta] : [])).join('');
    const last = events.find(({ type }) => type === done);
    expect(last?.text ?? last?.arguments).toBe(written);
  };

export const responseCases: ConformanceCase[] = [
  of('a string', {}, ...response(message)),
  of(
    'instructions',
    { instructions: 'Be brief.' },
    ...response(message, (json) => expect(json['instructions']).toBe('Be brief.')),
  ),
  of(
    'items',
    {
      input: [
        { role: 'developer', content: 'Be brief.' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
        user,
      ],
    },
    ...response(message),
  ),
  of(
    'nulls are as if left out',
    { instructions: null, tools: null, store: null, previous_response_id: null, text: null },
    ...response(message),
  ),
  of(
    'fields accepted without effect are repeated',
    { ...echoed, service_tier: 'auto', truncation: 'disabled', include: [] },
    ...response(message, (json) => expect(json).toMatchObject(echoed)),
  ),
  of(
    'sampling that chat completions have too',
    { seed: 4, presence_penalty: 0.5, frequency_penalty: -0.5, stop: ['@@'], n: 1 },
    ...response(message, (json) =>
      expect(json).toMatchObject({ presence_penalty: 0.5, frequency_penalty: -0.5 }),
    ),
  ),
  of('store false', { store: false }, ...response(message, (json) => expect(json['store']).toBe(false))),
  of(
    'reaches its length',
    { max_output_tokens: 1 },
    ...response((json) => expect(json['status']).toBe('incomplete')),
  ),
  of(
    'a schema',
    {
      max_output_tokens: 32,
      text: { format: { type: 'json_schema', name: 'switch', strict: true, schema: ON_OR_OFF } },
    },
    ...response((_, items) => {
      const { mode } = JSON.parse(items[0]?.content?.[0]?.text ?? '') as { mode: string };
      expect(['on', 'off']).toContain(mode);
    }),
  ),
  of(
    'a function',
    {
      input: [user],
      tools: [light],
      tool_choice: { type: 'function', name: 'light' },
      max_output_tokens: 48,
    },
    ...response((_, items) => {
      expect(items).toMatchObject([{ type: 'function_call', name: 'light', status: 'completed' }]);
      expect(['on', 'off']).toContain((JSON.parse(items[0]?.arguments ?? '') as { mode: string }).mode);
    }),
  ),
  of(
    'a result of a function',
    {
      input: [
        user,
        { type: 'function_call', call_id: 'c1', name: 'light', arguments: '{"mode":"on"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'It is on.' },
      ],
      tools: [light],
      tool_choice: 'none',
    },
    ...response(message),
  ),
  of(
    'a result of a function without parts',
    {
      input: [
        user,
        { type: 'function_call', call_id: 'c1', name: 'light', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: [] },
      ],
    },
    ...response(message),
  ),
  of(
    'streamed',
    { stream: true },
    stream(
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ),
  ),
  of(
    'streamed, a function',
    {
      stream: true,
      input: [user],
      tools: [light],
      tool_choice: { type: 'function', name: 'light' },
      max_output_tokens: 48,
    },
    stream(
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
    ),
  ),
  of('streamed, a 400 is a status', { stream: true, temperature: 3 }, badRequest('temperature')),
  bad('no input', { input: undefined }, 'input', 'missing_required_parameter'),
  bad('an empty input', { input: [] }, 'input', 'missing_required_parameter'),
  of('reasoning alone', { input: [{ type: 'reasoning' }] }, badRequest('input'), says('1 message or call')),
  of('an item not known', { input: [{ type: 'smell' }] }, badRequest('input[0].type'), says('"reasoning"')),
  bad('a role not known', { input: [{ role: 'owner', content: 'a' }] }, 'input[0].role'),
  bad(
    'an image',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }] },
    'input[0].content[0]',
    'unsupported_value',
  ),
  of(
    'an image by the id of a file',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1', image_url: null }] }] },
    badRequest('input[0].content[0].file_id', 'invalid_value'),
    says('`image_url`'),
  ),
  of(
    'an image in the result of a function',
    {
      input: [
        { type: 'function_call', call_id: 'c1', name: 'light', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [{ type: 'input_image', image_url: 'data:,' }],
        },
      ],
    },
    badRequest('input[1].output[0].type', 'unsupported_value'),
    says('role `user`'),
  ),
  bad(
    'a result without a call',
    { input: [{ type: 'function_call_output', call_id: 'c1', output: 'a' }] },
    'input[0].call_id',
    'invalid_value',
  ),
  of(
    'a tool of another type is left out',
    { tools: [{ type: 'web_search' }, light, { type: 'mcp', server_label: 'a' }] },
    ...response((json) => expect(json['tools']).toMatchObject([{ type: 'function', name: 'light' }])),
    header('localtext-warning', /web_search, mcp/),
  ),
  of(
    'streamed, a tool of another type is left out',
    { tools: [{ type: 'file_search' }, light], stream: true },
    status(200),
    header('localtext-warning', /file_search/),
  ),
  bad('only tools of other types', { tools: [{ type: 'web_search' }] }, 'tools[0].type', 'unsupported_value'),
  bad(
    'a choice of no tool',
    { tools: [light], tool_choice: { type: 'function', name: 'door' } },
    'tool_choice.name',
  ),
  bad('max_output_tokens 0', { max_output_tokens: 0 }, 'max_output_tokens'),
  bad(
    'a previous response that there is not',
    { previous_response_id: 'resp_none' },
    'previous_response_id',
    'previous_response_not_found',
  ),
  ...[`msg_${'0'.repeat(32)}_0`, 'fc_1', 'rs_'].flatMap((id) =>
    [{ id }, { type: 'item_reference', id }, { type: null, id }].map((item) =>
      of(
        `a reference to an unknown item: ${JSON.stringify(item)}`,
        { input: [user, item] },
        error(404, 'invalid_request_error', 'input[1].id', null),
        says(JSON.stringify(id)),
      ),
    ),
  ),
  bad('a reference without an id', { input: [{ type: 'item_reference' }] }, 'input[0].id'),
  ...(
    [
      ['max_tokens', 4, '`max_output_tokens`'],
      ['max_completion_tokens', 4, '`max_output_tokens`'],
      ['max_new_tokens', 4, '`max_output_tokens`'],
      ['stop_sequences', ['a'], '`stop`'],
      ['system', 'Be brief.', '`instructions`'],
      ['functions', [{ name: 'f' }], '`tools`'],
      ['function_call', { name: 'f' }, '`tool_choice`'],
      ['response_format', { type: 'json_object' }, '`text.format`'],
      ['messages', [user], '`input`'],
      ['reasoning_effort', 'low', '`reasoning.effort`'],
      ['logprobs', true, '`include`'],
      ['guided_json', { type: 'object' }, '`text.format`'],
      ['grammar', 'root ::= "a"', '`text.format`'],
    ] as const
  ).map(([name, value, instead]) =>
    of(`${name}, of another endpoint or server`, { [name]: value }, ...foreignField(name, instead)),
  ),
  bad('n 2', { n: 2 }, 'n'),
  bad(
    'a format without its schema',
    { text: { format: { type: 'json_schema', name: 'x' } } },
    'text.format.schema',
  ),
  bad('background', { background: true }, 'background', 'unsupported_value'),
  bad('conversation', { conversation: 'conv_1' }, 'conversation', 'unsupported_value'),
  bad('prompt', { prompt: { id: 'p' } }, 'prompt', 'unsupported_value'),
  bad('an unknown truncation', { truncation: 'middle' }, 'truncation'),
  of(
    'truncation auto, of what fits',
    { truncation: 'auto' },
    status(200),
    check((json) => {
      expect(json['truncation']).toBe('auto');
    }),
  ),
  ...[
    { path: `${path}/input_tokens`, json: base },
    {
      path: '/v1/chat/completions/input_tokens',
      json: { model: base.model, messages: [{ role: 'user', content: 'Say hello.' }] },
    },
  ].map((request) =>
    raw(
      `counts ${request.path}`,
      request,
      status(200),
      rateLimitHeaders,
      check((json) => {
        expect(json).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
        expect(json['input_tokens']).toBeGreaterThan(4);
      }),
    ),
  ),
  bad(
    'a schema with a type not known',
    { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'text' } } } },
    'text.format.schema.type',
    'invalid_json_schema',
  ),
  of(
    'verbosity is repeated',
    { text: { verbosity: 'low' } },
    ...response(message, (json) => expect(json).toMatchObject({ text: { verbosity: 'low' } })),
  ),
  bad('a verbosity not known', { text: { verbosity: 'loud' } }, 'text.verbosity', 'invalid_value'),
  bad('a format not known', { text: { format: { type: 'xml' } } }, 'text.format.type'),
  of('a model not known', { model: 'gpt-99' }, modelNotFound),
  raw('one that there is not', { path: `${path}/resp_none` }, notFound),
  raw('cancelling one that there is not', { path: `${path}/resp_none/cancel`, json: {} }, notFound),
  raw('compacting', { path: `${path}/compact`, json: base }, notFound),
  raw('deleting one that there is not', { path: `${path}/resp_none`, method: 'DELETE' }, notFound),
  raw('its items, where there is not', { path: `${path}/resp_none/input_items` }, notFound),
  raw(
    'posting to one',
    { path: `${path}/resp_none`, json: {} },
    error(405, 'invalid_request_error', null, null),
    header('allow', 'GET, HEAD, DELETE, OPTIONS'),
  ),
];
