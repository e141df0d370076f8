import type { ChatJob } from '../../src/jobs/chat.ts';

/** A greedy chat of one message, unless its fields say otherwise. */
export const chatJob = (more: Partial<ChatJob> = {}): ChatJob => ({
  kind: 'chat',
  model: 'm',
  input: { messages: [{ role: 'user', content: 'Hello' }] },
  sampling: { temperature: 0, topP: 1 },
  ...more,
});
