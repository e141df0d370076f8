import { expect, test } from 'vitest';

import { leaseOptions } from '../../../../src/engine-worker/requests/job-rules.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import type { DecisionJob } from '../../../../src/jobs/decision.ts';
import type { Job } from '../../../../src/jobs/kinds.ts';
import { classOf } from '../../../../src/scheduling/policy.ts';

const chat = (more: Partial<ChatJob>): ChatJob => ({
  kind: 'chat',
  model: 'm',
  input: { messages: [] },
  sampling: { temperature: 1, topP: 1 },
  ...more,
});
const decision = (questions: number, options: number, length = 1): DecisionJob => ({
  kind: 'decision',
  model: 'm',
  input: { text: '' },
  questions: Array.from({ length: questions }, () => ({
    type: 'choice',
    instructions: '',
    options: Array.from({ length: options }, (_, at) => ({ label: `${at}`.padEnd(length, 'x') })),
  })),
});
const sound = (bytes: number, type = 'audio/ogg'): Job => ({
  kind: 'transcription',
  model: 'm',
  task: 'transcribe',
  file: new Blob([new Uint8Array(bytes)], { type }),
  times: [],
  stream: false,
  others: [],
});
const words = (count: number) => ({ prompt: 'word '.repeat(count), text: 'word '.repeat(count) });

const streamed = { client: 'c', request: 'r' };

test.each<[what: string, job: Job, whole: string, stream: string]>([
  ['a short reply', chat({ maxTokens: 32 }), 'sharing', 'none'],
  ['a reply with a constraint', chat({ maxTokens: 32, constraint: { kind: 'json_object' } }), 'none', 'none'],
  ['a reply of 33 tokens', chat({ maxTokens: 33 }), 'short', 'sharing'],
  ['a reply of 129 tokens', chat({ maxTokens: 129 }), 'long', 'sharing'],
  ['a reply without a limit', chat({}), 'long', 'sharing'],
  ['a short reply to a long prompt', chat({ maxTokens: 16, input: words(500) }), 'short', 'sharing'],
  ['a short reply to a longer prompt', chat({ maxTokens: 16, input: words(1000) }), 'long', 'sharing'],
  ['the tokens of a long prompt', chat({ countOnly: true, input: words(9000) }), 'none', 'none'],
  ['a reply with a constraint', chat({ constraint: { kind: 'json_object' } }), 'fixed', 'fixed'],
  ['one question', decision(1, 12), 'none', 'none'],
  ['one question with long options', decision(1, 8, 256), 'short', 'sharing'],
  ['one question with very many options', decision(1, 255), 'long', 'sharing'],
  ['five questions', decision(5, 0), 'short', 'sharing'],
  ['a question on a long text', { ...decision(1, 2), input: words(1000) }, 'long', 'sharing'],
  ['twenty questions', decision(20, 0), 'long', 'sharing'],
  ['some seconds of sound', sound(2 ** 15), 'none', 'none'],
  ['a minute of sound', sound(2 ** 17), 'short', 'sharing'],
  ['a long recording', sound(2 ** 18), 'long', 'sharing'],
  ['some seconds of a wav file', sound(2 ** 17, 'audio/wav'), 'none', 'none'],
  ['an embedding', { kind: 'embedding', model: 'm', input: { texts: ['a'] } }, 'none', 'none'],
])('%s', (_, job, whole, stream) => {
  expect(classOf(leaseOptions(job, { ...streamed, background: true }, 0))).toBe(whole);
  expect(classOf(leaseOptions(job, streamed, 0))).toBe(stream);
});
