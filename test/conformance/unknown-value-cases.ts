import type { ConformanceCase } from './conformance-case.ts';
import { badRequest, status } from './facts.ts';

/** Requests with every field that has names or references as values: each is refused with another one in its place. */

type Json = Record<string, unknown>;

const UNKNOWN = 'nonesuch';

const model = 'amber-phoenix-4';
const user = { role: 'user', content: [{ type: 'text', text: 'Hi.' }] };
const parameters = { type: 'object', properties: { mode: { type: 'string', enum: ['on', 'off'] } } };
const light = { name: 'light', description: 'Switches the light.', parameters };
const named = { type: 'function', function: { name: 'light' } };
const tools = [{ type: 'function', function: light }];
const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } };
const chat = (extra: Json) => ({ model, messages: [user], max_tokens: 2, temperature: 0, ...extra });
const response = (extra: Json) => ({ model, input: 'Hi.', max_output_tokens: 16, temperature: 0, ...extra });
const content = [{ type: 'input_text', text: 'Hi.' }];

const REQUESTS: Record<string, Json[]> = {
  '/v1/chat/completions': [
    chat({
      messages: [
        { role: 'system', content: 'Be brief.' },
        user,
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'light', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'on' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        user,
      ],
      tools,
      tool_choice: named,
      modalities: ['text'],
      reasoning_effort: 'none',
    }),
    chat({
      tools,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } },
    }),
    chat({ tools, tool_choice: 'auto' }),
    chat({
      messages: [
        user,
        { role: 'assistant', function_call: { name: 'light', arguments: '{}' } },
        { role: 'function', name: 'light', content: 'on' },
      ],
      functions: [light],
      function_call: { name: 'light' },
    }),
    chat({ functions: [light], function_call: 'auto' }),
    chat({ response_format: { type: 'text' } }),
    chat({ response_format: { type: 'json_object' } }),
    chat({ response_format: { type: 'json_object', schema } }),
    chat({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }),
    chat({ structured_outputs: { json: schema } }),
    chat({ guided_json: schema }),
  ],
  '/v1/responses': [
    response({
      input: [
        { type: 'message', role: 'user', content },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] },
        { type: 'function_call', call_id: 'a', name: 'light', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: content },
        { type: 'reasoning', summary: [] },
      ],
      tools: [{ type: 'function', ...light }],
      tool_choice: { type: 'function', name: 'light' },
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      truncation: 'auto',
      reasoning: { effort: 'none' },
    }),
    response({
      tools: [{ type: 'function', ...light }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'light' }] },
    }),
    response({ tools: [{ type: 'function', ...light }], tool_choice: 'auto' }),
    response({ text: { format: { type: 'json_schema', name: 'a', schema } } }),
    response({ text: { format: { type: 'json_object' } } }),
  ],
  '/v1/embeddings': [{ model: 'jade-mole-4', input: 'Hi.', encoding_format: 'float' }],
  '/v1/decisions': [
    {
      model,
      input: [
        { type: 'message', role: 'user', content },
        { type: 'function_call', call_id: 'a', name: 'light', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'on' },
      ],
      questions: [
        { type: 'predicate', instructions: 'Is it a greeting?' },
        {
          type: 'choice',
          instructions: [{ type: 'input_text', text: 'Which?' }],
          choices: [{ value: 'a' }, { value: 'b' }],
        },
        { type: 'score', instructions: 'How polite?', levels: [{ label: 'low' }, { label: 'high' }] },
      ],
    },
  ],
};

/** Keys of free text, and of names that a request defines. */
const FREE = new Set(
  'model content text input output refusal description arguments instructions label value enum id call_id name'.split(
    ' ',
  ),
);
/** Names that refer to such a definition. */
const REFERENCE = /^(tool_choice|function_call)\b.*\bname$|^messages\[2\]\.name$|^input\[3\]\.call_id$/;

/** Paths of a body's strings. */
function* stringsOf(value: unknown, path = ''): Generator<string> {
  if (typeof value === 'string') yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value))
    yield* stringsOf(inner, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`);
}

const isNamed = (path: string): boolean =>
  REFERENCE.test(path) || !FREE.has(/(\$?\w+)(\[\d+\])*$/.exec(path)?.[1] ?? '');

function withUnknown(body: Json, path: string): Json {
  const changed = JSON.parse(JSON.stringify(body)) as Json;
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const last = keys.pop() ?? '';
  const parent = keys.reduce<Json>((value, key) => value[key] as Json, changed);
  parent[last] = UNKNOWN;
  return changed;
}

/** The list of allowed tools is refused as a whole. */
const paramOf = (field: string): string => field.replace(/(?<=^tool_choice\..*\btools)\[0\].*/, '');

/** Sound bodies with the fields that have names or references as values. */
export const bodies = Object.entries(REQUESTS).flatMap(([path, all]) => all.map((json) => ({ path, json })));

export const unknownValueCases: ConformanceCase[] = bodies.flatMap(({ path, json }, index) => [
  { name: `unknown values: request ${index} has none`, request: { path, json }, facts: [status(200)] },
  ...[...stringsOf(json)].filter(isNamed).map((field) => ({
    name: `unknown values: request ${index}, ${field}`,
    request: { path, json: withUnknown(json, field) },
    facts: [badRequest(paramOf(field))],
  })),
]);
