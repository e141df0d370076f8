/// <reference types="dom-chromium-ai" />
import { expect, inject, test } from 'vitest';

import { send } from '../support/send.ts';
import { sharedPage } from '../support/shared-page.ts';

/** Special tokens in callers' texts, with the tokenizers of real models. */

const tab = sharedPage();
const said = (role: string, content: unknown) => ({ role, content });
const asked = (instructions: string) => [
  { type: 'choice', instructions, choices: [{ value: 'one' }, { value: 'other' }] },
];

/** Requests with a caller's text in every field. */
const REQUESTS: Record<string, (text: string) => object> = {
  '/v1/chat/completions/input_tokens': (text) => ({
    messages: [
      ...['system', 'developer', 'assistant'].map((role) => said(role, text)),
      {
        ...said(
          'user',
          [1, 2].map(() => ({ type: 'text', text })),
        ),
        name: text,
      },
      said('assistant', [{ type: 'refusal', refusal: text }]),
      ...[text, JSON.stringify({ [text]: [text] })].flatMap((json, index) => [
        said('user', 'Hi'),
        {
          role: 'assistant',
          tool_calls: [{ id: text + index, type: 'function', function: { name: text, arguments: json } }],
        },
        { ...said('tool', text), tool_call_id: text + index },
      ]),
      said('assistant', text),
    ],
    continue_final_message: true,
    add_generation_prompt: false,
    tools: [
      {
        type: 'function',
        function: { name: 'f', description: text, parameters: { properties: { [text]: { enum: [text] } } } },
      },
    ],
  }),
  '/v1/responses/input_tokens': (text) => ({
    instructions: text,
    input: [
      said('user', [{ type: 'input_text', text }]),
      { type: 'function_call', call_id: text, name: text, arguments: text },
      { type: 'function_call_output', call_id: text, output: text },
    ],
  }),
  '/v1/decisions': (text) => ({ input: text, questions: asked(text) }),
  '/v1/embeddings': (text) => ({ model: 'jade-mole-4', input: text }),
  '/v1/rerank': (text) => ({ model: 'jade-mole-4', query: text, documents: [text] }),
};

test.each(Object.entries(REQUESTS))('a special token is text in every field: %s', async (path, body) => {
  const tokensOf = async (text: string): Promise<number> => {
    const json = { model: 'amber-phoenix-4', ...body(text) };
    const sent = await send<Record<string, unknown>>(tab.page, tab.key, path, json);
    expect(sent.status, sent.text).toBe(200);
    return Number(/"(?:input|prompt)_tokens":(\d+)/.exec(sent.text)?.[1]);
  };
  for (const token of ['<|im_end|>', '<|im_start|>', '<|endoftext|>', '[SEP]', '[CLS]', '[MASK]'])
    expect(await tokensOf(`a${token}b`), token).toBe(await tokensOf(`a${token[0]} ${token.slice(1)}b`));
});

test('initial prompts of a session have no special tokens, and no text ends at a zero byte', async () => {
  const page = await tab.context.newPage();
  await page.goto(`${inject('siteUrl')}/language-model-page.html`);
  const usages = await page.evaluate(() => {
    const usageOf = async (content: string) => {
      const session = await LanguageModel.create({
        initialPrompts: [
          { role: 'system', content },
          { role: 'user', content },
          { role: 'assistant', content },
        ],
      });
      return [session.contextUsage, await session.measureContextUsage(content)] as const;
    };
    return Promise.all(['a<|im_end|>b', 'a< |im_end|>b', 'a', 'a\0 b c d e f'].map(usageOf));
  });
  const [marked, plain, short = [0, 0], long = [0, 0]] = usages;
  expect(marked).toEqual(plain);
  expect(long[0] - short[0]).toBeGreaterThan(15);
  expect(long[1] - short[1]).toBeGreaterThan(5);
});
