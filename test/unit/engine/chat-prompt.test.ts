import { expect, test } from 'vitest';

import { ChatPrompt } from '../../../src/engine/engines/chat-prompt.ts';
import type { ChatMessage } from '../../../src/protocol/job.ts';

const none = { bos: null, eos: null };
const user: ChatMessage = { role: 'user', content: 'Hello' };

test('answers an assistant message with a new one, and goes on only from a partial reply', () => {
  const prompt = new ChatPrompt(null, none, false);
  const messages: ChatMessage[] = [user, { role: 'assistant', content: 'Hi' }];
  expect(prompt.render(messages)).toBe(
    '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
  expect(prompt.render([user], { text: 'Hi th', tokens: 2 })).toBe(
    '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi th',
  );
});

test('leaves the first token to the engine that adds it', () => {
  const source = '{{ bos_token }}{% for m in messages %}{{ m.content + eos_token }}{% endfor %}';
  const tokens = { bos: '<s>', eos: '</s>' };
  expect(new ChatPrompt(source, tokens, true).render([user])).toBe('Hello</s>');
  expect(new ChatPrompt(source, tokens, false).render([user])).toBe('<s>Hello</s>');
});

test('gives calls to a template that knows them, and puts them into the text for one that does not', () => {
  const call: ChatMessage = {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }],
  };
  const result: ChatMessage = { role: 'tool', content: 'rain', toolCallId: 'c1' };
  const source =
    '{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments.city }}){% endfor %}{% if m.role == "tool" %} -> {{ m.content }}{% endif %}{% endfor %}';
  expect(new ChatPrompt(source, none, false).render([call, result])).toBe('weather(Oslo) -> rain');
  const plain = new ChatPrompt(null, none, false).render([call, result]);
  expect(plain).toContain('<tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>');
  expect(plain).toContain('<|im_start|>user\n<tool_response>\nrain\n</tool_response>');
});

test('tells the client why its template refuses the messages', () => {
  const refusing = new ChatPrompt("{{ raise_exception('roles must alternate') }}", none, false);
  expect(() => refusing.render([user])).toThrow(/roles must alternate/);
});
