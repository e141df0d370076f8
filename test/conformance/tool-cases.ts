import { expect } from 'vitest';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, check, chunksOf, completion, header, ON_OR_OFF, status, stream } from './facts.ts';

const path = '/v1/chat/completions';
const tool = (name: string, extra: Record<string, unknown> = {}) => ({
  type: 'function',
  function: { name, description: 'Switches the light.', parameters: ON_OR_OFF, ...extra },
});
const tools = [tool('light')];
const user = { role: 'user', content: 'Switch the light on.' };
const base = { model: 'amber-phoenix-4', messages: [user], max_tokens: 48, temperature: 0, tools };
const named = (name: string) => ({ type: 'function', function: { name } });

const of = (name: string, extra: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `tools: ${name}`,
  request: { path, json: { ...base, ...extra } },
  facts,
});
const bad = (name: string, extra: Record<string, unknown>, param: string, code?: string) =>
  of(name, extra, badRequest(param, code));

interface Call {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}
interface Choice {
  message: { content: string | null; tool_calls?: Call[] };
  finish_reason: string;
}

/** Calls of that function alone, with arguments of its schema. */
const calls = (name: string, most: number, reason = 'tool_calls'): Fact =>
  check((json) => {
    for (const { message, finish_reason } of json['choices'] as Choice[]) {
      const made = message.tool_calls ?? [];
      expect(finish_reason).toBe(reason);
      expect(message.content).toBeNull();
      expect(made.length).toBeGreaterThan(0);
      expect(made.length).toBeLessThanOrEqual(most);
      for (const { id, type, function: call } of made) {
        expect([id, type, call.name]).toEqual([expect.stringMatching(/^[A-Za-z0-9]{9}$/), 'function', name]);
        const { mode, ...rest } = JSON.parse(call.arguments) as Record<string, unknown>;
        expect(['on', 'off']).toContain(mode);
        expect(rest).toEqual({});
      }
      expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
    }
  });

const streamedCall =
  (reason: string): Fact =>
  (answer) => {
    stream()(answer);
    const pieces = chunksOf(answer)
      .flatMap(({ choices }) => choices)
      .flatMap(
        ({ delta }) => (delta['tool_calls'] as (Partial<Call> & { index: number })[] | undefined) ?? [],
      );
    const [first, ...rest] = pieces;
    expect(chunksOf(answer)[0]?.choices[0]?.delta['content']).toBeNull();
    expect(first).toMatchObject({ index: 0, type: 'function', function: { name: 'light', arguments: '' } });
    expect(first?.id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(rest.every(({ id }) => id === undefined)).toBe(true);
    const text = rest.map((piece) => piece.function?.arguments ?? '').join('');
    expect(['on', 'off']).toContain((JSON.parse(text) as { mode: string }).mode);
    expect(chunksOf(answer).at(-1)?.choices[0]?.finish_reason).toBe(reason);
  };

const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'light', arguments: '{"mode":"on"}' } }],
};
const other = { type: 'web_search' };
const custom = (format?: unknown) => ({
  type: 'custom',
  custom: { name: 'say', description: 'Says a word.', ...(format !== undefined && { format }) },
});
const allowed = (...those: unknown[]) => ({
  type: 'allowed_tools',
  allowed_tools: { mode: 'required', tools: those },
});

const result = { role: 'tool', tool_call_id: 'call_1', content: 'The light is on.' };

/** Functions as requests had them before there were `tools`. */
const functions = [{ name: 'light', description: 'Switches the light.', parameters: ON_OR_OFF }];
const legacyCall = {
  role: 'assistant',
  content: null,
  function_call: { name: 'light', arguments: '{"mode":"on"}' },
};
const legacyResult = { role: 'function', name: 'light', content: 'The light is on.' };
const ofLegacy = (name: string, extra: Record<string, unknown>, ...facts: Fact[]) =>
  of(`functions: ${name}`, { tools: undefined, functions, ...extra }, ...facts);
const badLegacy = (name: string, extra: Record<string, unknown>, param: string, code?: string) =>
  ofLegacy(name, extra, badRequest(param, code));

const legacyMessage: Fact = check((json) => {
  for (const { message, finish_reason } of json['choices'] as Choice[]) {
    expect({ message, finish_reason }).toEqual({
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        function_call: {
          name: 'light',
          arguments: expect.stringMatching(/^\s*\{\s*"mode"\s*:\s*"(on|off)"\s*\}$/),
        },
      },
      finish_reason: 'stop',
    });
  }
});

const legacyStream: Fact = (answer) => {
  stream()(answer);
  const choices = chunksOf(answer).flatMap((chunk) => chunk.choices);
  const pieces = choices.flatMap(
    ({ delta }) => (delta['function_call'] as Call['function'] | undefined) ?? [],
  );
  expect(pieces[0]).toEqual({ name: 'light', arguments: '' });
  expect(pieces.slice(1).every(({ name }) => name === undefined)).toBe(true);
  expect(['on', 'off']).toContain(
    (JSON.parse(pieces.map((piece) => piece.arguments).join('')) as { mode: string }).mode,
  );
  expect(choices.at(-1)?.finish_reason).toBe('stop');
};

const legacyCases: ConformanceCase[] = [
  ofLegacy('one by name', { function_call: { name: 'light' } }, status(200), legacyMessage),
  ofLegacy('streamed', { function_call: { name: 'light' }, stream: true }, legacyStream),
  ofLegacy('none calls nothing', { function_call: 'none', max_tokens: 4 }, completion()),
  ofLegacy(
    'results come back',
    { messages: [user, legacyCall, legacyResult], function_call: 'none', max_tokens: 4 },
    completion(),
  ),
  badLegacy('a result of no call', { messages: [user, legacyResult] }, 'messages[1].name', 'invalid_value'),
  badLegacy(
    'a result without a name',
    { messages: [user, { role: 'function', content: 'x' }] },
    'messages[1].name',
  ),
  badLegacy('beside tools', { tools }, 'functions', 'invalid_parameter_combination'),
  badLegacy('with tool_choice', { tool_choice: 'auto' }, 'functions', 'invalid_parameter_combination'),
  badLegacy('a call of none', { function_call: { name: 'door' } }, 'function_call.name', 'invalid_value'),
  badLegacy(
    'function_call without functions',
    { functions: undefined, function_call: { name: 'light' } },
    'function_call',
    'invalid_parameter_combination',
  ),
  badLegacy('function_call required', { function_call: 'required' }, 'function_call'),
  badLegacy('one twice', { functions: [...functions, ...functions] }, 'functions[1].name', 'invalid_value'),
  badLegacy(
    'no name',
    { functions: [{ parameters: ON_OR_OFF }] },
    'functions[0].name',
    'missing_required_parameter',
  ),
  badLegacy(
    'parameters that are an array',
    { functions: [{ name: 'f', parameters: { type: 'array' } }] },
    'functions[0].parameters.type',
    'invalid_json_schema',
  ),
  badLegacy(
    'parameters that are no schema',
    { functions: [{ name: 'f', parameters: { type: 'text' } }] },
    'functions[0].parameters.type',
    'invalid_json_schema',
  ),
];

export const toolCases: ConformanceCase[] = [
  ...legacyCases,
  of('one function by name', { tool_choice: named('light') }, completion(), calls('light', 1, 'stop')),
  of(
    'required, one at a time',
    { tool_choice: 'required', parallel_tool_calls: false },
    completion(),
    calls('light', 1),
  ),
  of(
    'allowed_tools leave one',
    {
      tools: [tool('fan'), tool('light')],
      parallel_tool_calls: false,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named('light')] } },
    },
    completion(),
    calls('light', 1),
  ),
  of(
    'strict',
    { tools: [tool('light', { strict: true })], tool_choice: named('light') },
    calls('light', 1, 'stop'),
  ),
  of('n', { tool_choice: named('light'), n: 2 }, completion(2), calls('light', 1, 'stop')),
  of('streamed', { tool_choice: named('light'), stream: true }, streamedCall('stop')),
  of(
    'required, streamed',
    { tool_choice: 'required', parallel_tool_calls: false, stream: true },
    streamedCall('tool_calls'),
  ),
  of('auto may answer or call', { max_tokens: 8 }, completion()),
  of('auto with a format', { response_format: { type: 'json_object' }, max_tokens: 8 }, completion()),
  of(
    'none calls nothing',
    { tool_choice: 'none', max_tokens: 4 },
    completion(),
    check((json) => expect((json['choices'] as Choice[])[0]?.message.tool_calls).toBeUndefined()),
  ),
  of('results come back', { messages: [user, called, result], max_tokens: 4 }, completion()),
  of(
    'results come back without tools',
    { messages: [user, called, result], tools: undefined, max_tokens: 4 },
    completion(),
  ),
  of(
    'a function without parameters',
    { tools: [{ type: 'function', function: { name: 'stop' } }], tool_choice: named('stop') },
    completion(),
    check((json) =>
      expect(
        JSON.parse((json['choices'] as Choice[])[0]?.message.tool_calls?.[0]?.function.arguments ?? ''),
      ).toEqual({}),
    ),
  ),
  bad('a wrong name', { tools: [tool('switch the light')] }, 'tools[0].function.name', 'invalid_value'),
  bad(
    'no name',
    { tools: [{ type: 'function', function: {} }] },
    'tools[0].function.name',
    'missing_required_parameter',
  ),
  bad('no function', { tools: [{ type: 'function' }] }, 'tools[0].function', 'missing_required_parameter'),
  bad('no custom tool', { tools: [{ type: 'custom' }] }, 'tools[0].custom', 'missing_required_parameter'),
  of(
    'another type beside a function is left out',
    { tools: [other, tool('light')], tool_choice: 'required', parallel_tool_calls: false },
    completion(),
    calls('light', 1),
    header('localtext-warning', /web_search.*Only functions/),
  ),
  bad('another type alone', { tools: [other], tool_choice: 'none' }, 'tools[0].type', 'unsupported_value'),
  bad('a choice of another type', { tools: [other, tool('light')], tool_choice: other }, 'tool_choice.type'),
  of(
    'another type among allowed tools is left out',
    {
      tools: [other, tool('light')],
      parallel_tool_calls: false,
      tool_choice: allowed(other, named('light')),
    },
    calls('light', 1),
  ),
  bad(
    'another type as the only allowed tool',
    { tools: [other, tool('light')], tool_choice: allowed(other) },
    'tool_choice.allowed_tools.tools',
    'unsupported_value',
  ),
  of(
    'a custom tool takes a text',
    {
      // A form that ends by itself, whatever the model says.
      tools: [
        tool('light'),
        custom({ type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]{2}' } }),
      ],
      tool_choice: { type: 'custom', custom: { name: 'say' } },
    },
    check((json) => {
      const [{ message, finish_reason } = {}] = json['choices'] as {
        message?: { content: unknown; tool_calls: unknown[] };
        finish_reason?: string;
      }[];
      expect([message?.content, finish_reason]).toEqual([null, 'stop']);
      expect(message?.tool_calls).toEqual([
        {
          id: expect.stringMatching(/^[A-Za-z0-9]{9}$/),
          type: 'custom',
          custom: { name: 'say', input: expect.any(String) },
        },
      ]);
    }),
  ),
  bad(
    'a Lark grammar',
    { tools: [custom({ type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } })] },
    'tools[0].custom.format.grammar.syntax',
  ),
  of(
    'the type of a tool is no way to write a header',
    { tools: [{ type: 'a\r\nb: ü' }, tool('light')], max_tokens: 4 },
    header('localtext-warning', /a\?\?b: \?\. Only functions/),
  ),
  bad('a name twice', { tools: [tool('light'), tool('light')] }, 'tools[1].function.name', 'invalid_value'),
  bad(
    'too many',
    { tools: Array.from({ length: 129 }, (_, index) => tool(`f${index}`)) },
    'tools',
    'invalid_value',
  ),
  bad(
    'parameters that are no schema',
    { tools: [tool('light', { parameters: { type: 'object', properties: { a: { type: 'text' } } } })] },
    'tools[0].function.parameters.properties.a.type',
    'invalid_json_schema',
  ),
  bad(
    'strict and open',
    { tools: [tool('light', { strict: true, parameters: { type: 'object', properties: {} } })] },
    'tools[0].function.parameters.additionalProperties',
    'invalid_json_schema',
  ),
  bad('a choice that is none', { tool_choice: 'any' }, 'tool_choice'),
  bad('a choice of no tool', { tool_choice: named('door') }, 'tool_choice.function.name', 'invalid_value'),
  bad(
    'a choice without tools',
    { tools: undefined, tool_choice: 'required' },
    'tool_choice',
    'invalid_parameter_combination',
  ),
];
