import { expect, test } from 'vitest';

import { withoutResultMarks } from '../../../src/chat-template/without-result-marks.ts';
import type { ChatEvent, Delta } from '../../../src/jobs/chat.ts';

async function* replyOf(tokens: readonly string[]): AsyncGenerator<ChatEvent> {
  const logprob = { logprob: -1, bytes: null, top: [] };
  for (const token of tokens)
    yield { type: 'delta', delta: { text: token, tokens: 1, logprobs: [{ token, ...logprob }] } };
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: tokens.length };
  yield { type: 'done', finishReason: 'stop', usage, timings: { prefillMs: 1, decodeMs: 1 } };
}

test.each([
  ['<|tool|_response|>|\n|4| pears|.|\n|</|tool|_response|>', '4 pears.'],
  ['Sorry|.|\n|<tool|_response>|\n|4|\n|</|tool_response|>|\n|5', 'Sorry.\n4\n5'],
  ['Gute| Nacht|\n|</|tool_response|>', 'Gute Nacht'],
  ['<|tool_response|>|\n|<tool_response>\n|4|\n</tool_response>|\n|</tool_response>', '4'],
  ['4 < 5|\n|\n|<tool|_responses>|\n|</tool', '4 < 5\n\n<tool_responses>\n</tool'],
  ['<|tool|_response|>', ''],
  // A token that ends in a mark keeps its own text, and its log probability.
  ['4|.\n|</tool_response>', '4.'],
])('%j is shown as %j, and marks have no log probabilities', async (reply, text) => {
  for (const tokens of [reply.split('|'), reply.replaceAll('|', '').split('')]) {
    const deltas: Delta[] = [];
    for await (const event of withoutResultMarks(replyOf(tokens)))
      if (event.type === 'delta') deltas.push(event.delta);
    expect(deltas.map((delta) => delta.text).join('')).toBe(text);
    const logprobs = deltas.flatMap((delta) => delta.logprobs ?? []);
    expect(
      logprobs
        .map(({ token }) => token)
        .join('')
        .trimEnd(),
    ).toBe(text);
    expect(deltas).toHaveLength(tokens.length);
  }
});
