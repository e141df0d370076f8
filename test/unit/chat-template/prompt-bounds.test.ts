import { expect, test } from 'vitest';

import { refuseOversized } from '../../../src/chat-template/prompt-bounds.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import type { ChatMessage } from '../../../src/jobs/chat.ts';

const said = (content: string): ChatMessage => ({ role: 'user', content });

type Bounded = Parameters<typeof refuseOversized>[0];

function refusal(input: Bounded['input'], begun = ''): string | null {
  try {
    refuseOversized({ input, resume: { text: begun, tokens: 0 } }, 100);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.wire).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    return error.message;
  }
}

test('a prompt that cannot fit is refused by its length, with both numbers', () => {
  expect(refusal({ prompt: 'x'.repeat(16_000) })).toContain(
    'maximum context length is 100 tokens, and the prompt has 16000 characters',
  );
  expect(refusal({ messages: [said('x'.repeat(2000)), said('y'.repeat(2000))] })).toContain(
    '4000 characters',
  );
  expect(refusal({ messages: Array.from({ length: 101 }, () => said('')) })).toContain('101 messages');
  expect(refusal({ messages: [said('x')] }, 'y'.repeat(6401))).toContain('6401 characters');
});

test('arguments of calls count', () => {
  const toolCalls = [{ id: 'a', name: 'f', arguments: 'x'.repeat(15_999) }];
  expect(refusal({ messages: [{ role: 'assistant', content: '', toolCalls }] })).toContain(
    '16000 characters',
  );
});

test('one that may fit is left to the tokenizer', () => {
  expect(refusal({ prompt: ' '.repeat(3200) })).toBeNull();
  expect(refusal({ messages: [said('word '.repeat(600))] })).toBeNull();
});
