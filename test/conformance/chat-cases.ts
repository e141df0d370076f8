import { expect } from 'vitest';
import { SAMPLING } from '../../src/jobs/sampling.ts';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import {
  badRequest,
  check,
  chunksOf,
  completion,
  foreignField,
  header,
  modelNotFound,
  ON_OR_OFF,
  says,
  statusIn,
  stream,
  streamedText,
} from './facts.ts';

const path = '/v1/chat/completions';
const base = {
  model: 'amber-phoenix-4',
  messages: [{ role: 'user', content: 'Say hello.' }],
  max_tokens: 4,
  temperature: 0,
};

const of = (
  name: string,
  extra: Record<string, unknown>,
  facts: Fact[],
  fakeFacts: Fact[] = [],
): ConformanceCase => ({
  name: `chat: ${name}`,
  request: { path, json: { ...base, ...extra } },
  facts,
  fakeFacts,
});
const good = (name: string, extra: Record<string, unknown>, facts: Fact[] = [], fakeFacts: Fact[] = []) =>
  of(name, extra, [completion(), ...facts], fakeFacts);
const bad = (name: string, extra: Record<string, unknown>, param: string | null, code?: string | null) =>
  of(name, extra, [badRequest(param, code)]);
const badMessages = (name: string, messages: unknown, param: string) => bad(name, { messages }, param);

type Choice = {
  message: { content: string };
  finish_reason: string;
  logprobs: { content: { top_logprobs: unknown[] }[] } | null;
};
const choicesOf = (json: Record<string, unknown>) => json['choices'] as Choice[];
const usageOf = (json: Record<string, unknown>) => json['usage'] as Record<string, number>;

const content = (text: string): Fact =>
  check((json) => expect(choicesOf(json)[0]?.message.content).toBe(text));
const atMost = (tokens: number): Fact =>
  check((json) => expect(usageOf(json)['completion_tokens']).toBeLessThanOrEqual(tokens));
const user = (text: unknown) => ({ role: 'user', content: text });
const toolCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };

const samplingNames = Object.values(SAMPLING).map(({ name }) => name);
const ranges = Object.values(SAMPLING).flatMap((each) => ('range' in each ? [each] : []));

const served: ConformanceCase[] = [
  good('the least that is needed', { temperature: undefined, max_tokens: 2 }, [
    atMost(2),
    header('x-request-id', /./),
    header('openai-processing-ms', /^\d+$/),
    header('cache-control', 'no-store'),
  ]),
  good(
    'max_tokens 1 is one token',
    { max_tokens: 1 },
    [
      check((json) => expect(usageOf(json)['completion_tokens']).toBe(1)),
      check((json) => expect(choicesOf(json)[0]?.finish_reason).toBe('length')),
    ],
    [content('Hello')],
  ),
  good(
    'max_completion_tokens',
    { max_tokens: undefined, max_completion_tokens: 2 },
    [atMost(2)],
    [content('Hello, ')],
  ),
  good(
    'max_tokens far past the context',
    { max_tokens: 9_007_199_254_740_991, stop: [' ', ',', 'e', 'a'].slice(0, 4) },
    [],
  ),
  ...ranges.map(({ name, range: [, high] }) => good(`${name} ${high}`, { temperature: 1, [name]: high })),
  good('top_p', { temperature: 1, top_p: 0.5 }),
  good('seed', { seed: 42 }),
  ...[-(2 ** 63), 2 ** 64].map((seed) => good(`seed ${seed}`, { seed })),
  good('penalties', { presence_penalty: -2, frequency_penalty: 2 }),
  good('logit_bias', { logit_bias: { '100': -100 } }),
  good('stop as a string', { stop: '\n\n\n' }),
  good('stop as 32 strings', { stop: Array.from({ length: 32 }, (_, index) => `@@${index}`) }),
  good('stop as an empty array', { stop: [] }),
  good('stop spans tokens', { max_tokens: 8, stop: 'o, w' }, [], [content('Hell')]),
  of('n', { n: 3 }, [completion(3)]),
  good('nulls are as if left out', {
    ...Object.fromEntries(samplingNames.map((name) => [name, null])),
    stop: null,
    n: null,
    stream: null,
    response_format: null,
    user: null,
    metadata: null,
    logprobs: null,
    tools: null,
    stream_options: null,
    max_completion_tokens: null,
  }),
  good('fields that are not known are ignored', { verbosity: 'low', from_the_future: { a: [1] } }),
  good('a model that does not think ignores what is said of thinking', {
    reasoning_effort: 'low',
    chat_template_kwargs: { enable_thinking: true, other: 1 },
  }),
  good('fields accepted without effect', {
    user: 'u',
    metadata: { a: 'b' },
    store: false,
    service_tier: 'auto',
    modalities: ['text'],
    parallel_tool_calls: true,
  }),
  good('a prototype key is a field like others', JSON.parse('{"__proto__":{"n":2},"constructor":1}')),
  good('no tools', { tools: [], tool_choice: 'none' }),
  good('response_format text', { response_format: { type: 'text' } }),
  good('system, developer and assistant', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Be kind.' },
      user('Hi.'),
      { role: 'assistant', content: 'Hello.' },
      user('Say hello again.'),
    ],
  }),
  good('text parts', {
    messages: [
      user([
        { type: 'text', text: 'Say' },
        { type: 'text', text: 'hello.' },
      ]),
    ],
  }),
  good('a name', { messages: [{ ...user('Say hello.'), name: 'Ada' }] }),
  good('an empty content', { messages: [user(''), user('Say hello.')] }),
  good('a refusal in the history, as SDKs send it back', {
    messages: [user('a'), { role: 'assistant', content: null, refusal: 'I cannot.' }, user('b')],
  }),
  good('characters of every plane', { messages: [user('Grüße 你好 🦉 \u0000 ‮ \u{10FFFF}')] }),
  good('half a surrogate pair', { messages: [user('broken \ud83d here')] }),
  // Which other names there are is the site's business.
  of('another name of a model', { model: 'gpt-4o-mini' }, [statusIn(200, 404)], [completion()]),
  good('the largest', { model: 'crimson-falcon-4', max_tokens: 1 }),
  good('the middle', { model: 'indigo-owl-4', max_tokens: 1 }),
  good('logprobs', { logprobs: true, top_logprobs: 2 }, [
    check((json) => {
      const tokens = choicesOf(json)[0]?.logprobs?.content ?? [];
      expect(tokens.length).toBeGreaterThan(0);
      for (const token of tokens) expect(token.top_logprobs.length).toBe(2);
    }),
  ]),
  good('a JSON schema as vLLM takes it', { max_tokens: 24, guided_json: ON_OR_OFF }, [
    check((json) => {
      const reply = JSON.parse(choicesOf(json)[0]?.message.content ?? '') as unknown;
      expect([{ mode: 'on' }, { mode: 'off' }]).toContainEqual(reply);
    }),
  ]),
  good('no logprobs', {}, [check((json) => expect(choicesOf(json)[0]?.logprobs).toBeNull())]),
];

const streamed: ConformanceCase[] = [
  of(
    'streamed',
    { stream: true },
    [stream(), (answer) => expect(chunksOf(answer).every((chunk) => chunk.usage === undefined)).toBe(true)],
    [(answer) => expect(streamedText(answer)).toBe('Hello, world!')],
  ),
  of('streamed, n', { stream: true, n: 2 }, [stream(2)]),
  of('streamed with usage', { stream: true, stream_options: { include_usage: true } }, [
    stream(),
    (answer) => {
      const last = chunksOf(answer).at(-1);
      expect(last?.choices).toEqual([]);
      expect(last?.usage?.['completion_tokens']).toBeGreaterThan(0);
      expect(
        chunksOf(answer)
          .slice(0, -1)
          .every((chunk) => chunk.usage === null),
      ).toBe(true);
    },
  ]),
  of('streamed, without usage by name', { stream: true, stream_options: { include_usage: false } }, [
    stream(),
  ]),
  of(
    'streamed, stop spans tokens',
    { stream: true, max_tokens: 8, stop: ['o, w'] },
    [stream(), (answer) => expect(streamedText(answer)).not.toContain('o, w')],
    [(answer) => expect(streamedText(answer)).toBe('Hell')],
  ),
  of('streamed, logprobs', { stream: true, logprobs: true }, [
    stream(),
    (answer) =>
      expect(chunksOf(answer)[0]?.choices[0]).toMatchObject({
        delta: { role: 'assistant', content: '' },
        logprobs: { content: [], refusal: null },
      }),
  ]),
  of('streamed, a 400 is a status', { stream: true, temperature: 3 }, [badRequest('temperature')]),
  of('streamed, a 404 is a status', { stream: true, model: 'none' }, [modelNotFound]),
];

const refused: ConformanceCase[] = [
  bad('no model', { model: undefined }, 'model', 'missing_required_parameter'),
  bad('model null', { model: null }, 'model', 'invalid_type'),
  of('model not known', { model: 'gpt-99' }, [modelNotFound]),
  of('model an empty string', { model: '' }, [modelNotFound]),
  of('model a prototype key', { model: '__proto__' }, [modelNotFound]),
  of('model of another kind', { model: 'jade-mole-4' }, [modelNotFound]),
  bad('no messages', { messages: undefined }, 'messages', 'missing_required_parameter'),
  badMessages('messages empty', [], 'messages'),
  badMessages('a message that is a string', ['hello'], 'messages[0]'),
  badMessages('a message that is null', [user('a'), null], 'messages[1]'),
  badMessages('no role', [{ content: 'a' }], 'messages[0].role'),
  badMessages('a role not known', [user('a'), { role: 'owner', content: 'a' }], 'messages[1].role'),
  badMessages('a role that is a prototype key', [{ role: 'constructor', content: 'a' }], 'messages[0].role'),
  badMessages('no content', [{ role: 'user' }], 'messages[0].content'),
  badMessages('content null', [user(null)], 'messages[0].content'),
  badMessages('content without parts', [user([])], 'messages[0].content'),
  badMessages('a text part without text', [user([{ type: 'text' }])], 'messages[0].content[0].text'),
  of('a part without a type', { messages: [user(['Hi.'])] }, [
    badRequest('messages[0].content[0]'),
    says('must be an object'),
  ]),
  of('a part not known', { messages: [user([{ type: 'input_audio' }])] }, [
    badRequest('messages[0].content[0].type'),
    says('one of "text", "image_url", but'),
  ]),
  bad(
    'an image',
    {
      messages: [
        user([
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'data:,' } },
        ]),
      ],
    },
    'messages[0].content[1]',
    'unsupported_value',
  ),
  badMessages(
    'an assistant who says nothing',
    [user('a'), { role: 'assistant' }, user('b')],
    'messages[1].content',
  ),
  badMessages(
    'a tool message without a call',
    [user('a'), { role: 'tool', content: 'x', tool_call_id: 'call_1' }],
    'messages[1].tool_call_id',
  ),
  badMessages(
    'a tool message without an id',
    [user('a'), { role: 'tool', content: 'x' }],
    'messages[1].tool_call_id',
  ),
  badMessages(
    'a tool call without a function',
    [user('a'), { role: 'assistant', tool_calls: [{ ...toolCall, function: undefined }] }],
    'messages[1].tool_calls[0].function',
  ),
  bad('temperature 2.01', { temperature: 2.01 }, 'temperature', 'invalid_value'),
  bad('reasoning_effort unknown', { reasoning_effort: 'much' }, 'reasoning_effort', 'invalid_value'),
  bad(
    'reasoning_effort against enable_thinking',
    { reasoning_effort: 'low', chat_template_kwargs: { enable_thinking: false } },
    'reasoning_effort',
    'invalid_parameter_combination',
  ),
  bad('max_tokens 0', { max_tokens: 0 }, 'max_tokens'),
  bad('max_tokens negative', { max_tokens: -1 }, 'max_tokens'),
  bad('max_tokens a fraction', { max_tokens: 1.5 }, 'max_tokens'),
  bad('max_tokens past every integer', { max_tokens: 1e300 }, 'max_tokens'),
  bad('max_completion_tokens 0', { max_tokens: null, max_completion_tokens: 0 }, 'max_completion_tokens'),
  bad('both token limits', { max_completion_tokens: 5 }, 'max_tokens'),
  bad('n 0', { n: 0 }, 'n'),
  ...[129, 1e20].map((n) => of(`n ${n}`, { n }, [badRequest('n'), says('at most 128')])),
  bad('stream_options without stream', { stream_options: { include_usage: true } }, 'stream_options'),
  bad(
    'stream_options.include_usage a string',
    { stream: true, stream_options: { include_usage: 'a' } },
    'stream_options.include_usage',
  ),
  bad('stop with 33', { stop: Array.from({ length: 33 }, () => 'a') }, 'stop'),
  bad('stop with an empty string', { stop: ['a', ''] }, 'stop[1]'),
  bad('stop an empty string', { stop: '' }, 'stop'),
  bad('seed a fraction', { seed: 0.5 }, 'seed'),
  bad('seed of 65 bits', { seed: 2 ** 65 }, 'seed'),
  ...ranges.flatMap(({ name, range: [low, high] }) => [
    bad(`${name} too low`, { [name]: low - 0.1 }, name),
    bad(`${name} too high`, { [name]: high + 0.1 }, name),
  ]),
  bad('logit_bias too high', { logit_bias: { '5': 101 } }, 'logit_bias.5'),
  of('logit_bias of a word', { logit_bias: { hello: 1 } }, [
    badRequest('logit_bias.hello'),
    says('but "hello" was given'),
  ]),
  of('metadata with a long key', { metadata: { ['k'.repeat(65)]: 'v' } }, [
    badRequest(`metadata.${'k'.repeat(64)}…`),
    says('keys of at most 64 characters'),
  ]),
  ...(
    [
      ['max_output_tokens', 4, '`max_completion_tokens`'],
      ['max_new_tokens', 4, '`max_completion_tokens`'],
      ['n_predict', 4, '`max_completion_tokens`'],
      ['num_predict', 4, '`max_completion_tokens`'],
      ['stop_sequences', ['a'], '`stop`'],
      ['system', 'Be brief.', '`system`'],
      ['extra_body', { top_k: 1 }, 'body'],
      ['conversation', 'conv_1', '`messages`'],
      ['response_schema', { type: 'object' }, '`response_format`'],
      ['output_format', { type: 'object' }, '`response_format`'],
      ['grammar_string', 'root ::= "a"', '`response_format`'],
      ['input', 'Hi.', '`messages`'],
      ['instructions', 'Be brief.', '`system`'],
      ['prompt', 'Hi.', '`messages`'],
      ['previous_response_id', 'resp_1', '`messages`'],
      ['reasoning', { effort: 'low' }, '`reasoning_effort`'],
      ['text', { format: { type: 'json_object' } }, '`response_format`'],
      ...['ebnf', 'format', 'grammar', 'guided_choice', 'guided_grammar', 'guided_regex', 'regex'].map(
        (name) => [name, 'a', '`response_format`'] as const,
      ),
      ['structural_tag', { type: 'structural_tag' }, '`response_format`'],
    ] as const
  ).map(([name, value, instead]) =>
    of(`${name}, of another endpoint or server`, { [name]: value }, foreignField(name, instead)),
  ),
  bad('a regular expression of vLLM', { structured_outputs: { regex: 'a+' } }, 'structured_outputs.regex'),
  bad('two constraints', { guided_json: ON_OR_OFF, response_format: { type: 'json_object' } }, 'guided_json'),
  bad(
    'guided_json with a type not known',
    { guided_json: { type: 'text' } },
    'guided_json.type',
    'invalid_json_schema',
  ),
  bad('top_logprobs without logprobs', { top_logprobs: 2 }, 'top_logprobs'),
  bad('top_logprobs too many', { logprobs: true, top_logprobs: 21 }, 'top_logprobs'),
  bad('response_format not known', { response_format: { type: 'xml' } }, 'response_format.type'),
  bad('response_format a string', { response_format: 'json_object' }, 'response_format'),
  bad(
    'json_schema without a schema object',
    { response_format: { type: 'json_schema' } },
    'response_format.json_schema',
  ),
  bad(
    'json_schema without a name',
    { response_format: { type: 'json_schema', json_schema: { schema: {} } } },
    'response_format.json_schema.name',
  ),
  bad(
    'a schema with a type not known',
    schema({ type: 'object', properties: { a: { type: 'text' } } }),
    'response_format.json_schema.schema.properties.a.type',
    'invalid_json_schema',
  ),
  bad(
    'a schema with a reference to nowhere',
    schema({ $ref: '#/$defs/none' }),
    'response_format.json_schema.schema.$ref',
  ),
  bad(
    'a strict schema that is open',
    schema({ type: 'object', properties: {} }, true),
    'response_format.json_schema.schema.additionalProperties',
  ),
  bad('a schema nested without end', schema(nested(60), true), 'response_format.json_schema.schema'),
  bad('audio', { modalities: ['text', 'audio'] }, 'modalities', 'unsupported_value'),
  bad('web_search_options', { web_search_options: {} }, 'web_search_options', 'unsupported_value'),
  bad('metadata with a number', { metadata: { a: 1 } }, 'metadata.a'),
];

function schema(root: unknown, strict = false) {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: root, strict } } };
}

function nested(depth: number): unknown {
  let value: unknown = { type: 'string' };
  for (let level = 0; level < depth; level++) value = { type: 'array', items: value };
  return value;
}

export const chatCases = [...served, ...streamed, ...refused];
