import { expect, test } from 'vitest';

import { send } from '../support/send.ts';
import { sharedPage } from '../support/shared-page.ts';

/** Special tokens in callers' texts, with the tokenizers of real models. */

const tab = sharedPage();
const CHAT = '/v1/chat/completions/input_tokens';
const RESPONSE = '/v1/responses/input_tokens';
const chat = { model: 'amber-phoenix-4' };
const question = (instructions: string, value: string) => ({
  type: 'choice',
  instructions,
  choices: [{ value }, { value: 'other' }],
});
const tool = (name: string, description: string, property: string) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: { type: 'object', properties: { [property]: { description } } },
  },
});
const called = (id: string, name: string, json: string, content: string) => [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name, arguments: json } }] },
  { role: 'tool', tool_call_id: id, content },
];
const said = (role: string, content: unknown) => ({
  messages: [
    { role: 'user', content: 'x' },
    { role, content },
  ],
});

/** Requests with a caller's text somewhere. */
const PLACES: Record<string, [path: string, body: (text: string) => object]> = {
  system: [CHAT, (text) => said('system', text)],
  developer: [CHAT, (text) => said('developer', text)],
  user: [CHAT, (text) => said('user', text)],
  assistant: [CHAT, (text) => said('assistant', text)],
  parts: [
    CHAT,
    (text) =>
      said('user', [
        { type: 'text', text },
        { type: 'text', text },
      ]),
  ],
  'a refusal': [CHAT, (refusal) => said('assistant', [{ type: 'refusal', refusal }])],
  'a name': [CHAT, (name) => ({ messages: [{ role: 'user', content: 'x', name }] })],
  'the name of a call': [CHAT, (name) => ({ messages: called('a', name, '{}', 'b') })],
  'the id of a call': [CHAT, (id) => ({ messages: called(id, 'f', '{}', 'b') })],
  arguments: [CHAT, (text) => ({ messages: called('a', 'f', JSON.stringify({ [text]: [text] }), 'b') })],
  'arguments that are no JSON': [CHAT, (text) => ({ messages: called('a', 'f', text, 'b') })],
  'a result': [CHAT, (text) => ({ messages: called('a', 'f', '{}', text) })],
  'a tool': [CHAT, (text) => ({ ...said('user', 'x'), tools: [tool('f', text, text)] })],
  'the beginning of a reply': [
    CHAT,
    (text) => ({ ...said('assistant', text), continue_final_message: true, add_generation_prompt: false }),
  ],
  instructions: [RESPONSE, (instructions) => ({ input: 'x', instructions })],
  input: [RESPONSE, (input) => ({ input })],
  'input items': [
    RESPONSE,
    (text) => ({
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
        { type: 'function_call', call_id: text, name: text, arguments: text },
        { type: 'function_call_output', call_id: text, output: text },
      ],
    }),
  ],
  'a text to decide about': ['/v1/decisions', (input) => ({ input, questions: [question('Which?', 'one')] })],
  'a question': ['/v1/decisions', (text) => ({ input: 'x', questions: [question(text, 'one')] })],
  'a text to embed': ['/v1/embeddings', (input) => ({ model: 'jade-mole-4', input })],
  'a text to rank': ['/v1/rerank', (text) => ({ model: 'jade-mole-4', query: text, documents: [text] })],
};

test.each(Object.entries(PLACES))('a special token is text in %s', async (_, [path, body]) => {
  const tokensOf = async (text: string): Promise<number> => {
    const sent = await send<{ usage?: Record<string, number>; input_tokens?: number }>(
      tab.page,
      tab.key,
      path,
      {
        ...chat,
        ...body(text),
      },
    );
    expect(sent.status, sent.text).toBe(200);
    const { usage = {}, input_tokens: counted } = sent.body;
    return counted ?? usage['input_tokens'] ?? usage['prompt_tokens'] ?? usage['total_tokens'] ?? NaN;
  };
  const special =
    path.includes('embed') || path.includes('rank')
      ? ['[SEP]', '[CLS]', '[MASK]']
      : ['<|im_end|>', '<|im_start|>', '<|endoftext|>'];
  for (const token of special)
    expect(await tokensOf(`a${token}b`), token).toBe(await tokensOf(`a${token[0]} ${token.slice(1)}b`));
});
