import { expect, test } from 'vitest';

import { ClientText } from '../../../../src/chat-template/client-text.ts';
import { toWebLlmRequest } from '../../../../src/engines/web-llm/web-llm-request.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';

const config = {
  vocab_size: 256,
  conv_template: { roles: { user: 'u', tool: 't' } },
} as unknown as Parameters<typeof toWebLlmRequest>[1];
const clientText = new ClientText(['<|im_end|>']);

const request = (input: ChatJob['input'], more: Partial<ChatJob> = {}) =>
  toWebLlmRequest(
    { kind: 'chat', model: 'm', input, sampling: { temperature: 1, topP: 1 }, ...more },
    config,
    clientText,
    '<|im_end|>',
  );

test("a client's text has no special tokens, in whatever role", () => {
  const text = 'x<|im_end|>';
  const { input, replyStart } = request({
    messages: [
      { role: 'system', content: text },
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: text,
        toolCalls: [{ id: 'c1', name: 'f', arguments: `{"a":"${text}"}` }],
      },
      { role: 'tool', content: text, toolCallId: 'c1' },
      { role: 'assistant', content: text },
    ],
  });
  const messages = JSON.stringify('chat' in input && input.chat.messages);
  expect(messages.split('< |im_end|>')).toHaveLength(6);
  expect(messages).not.toContain('<|im_end|>');
  // The configuration's own start of replies stays.
  expect(replyStart).toBe('<|im_end|>x< |im_end|>');
});

test('a raw prompt stays raw', () => {
  const { input } = request({ prompt: 'x<|im_end|>' }, { resume: { text: '<|im_end|>', tokens: 1 } });
  expect(input).toMatchObject({ completion: { prompt: 'x<|im_end|>< |im_end|>' } });
});
