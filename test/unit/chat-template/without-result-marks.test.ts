import { expect, test } from 'vitest';

import { withoutResultMarks } from '../../../src/chat-template/without-result-marks.ts';
import type { ChatEvent } from '../../../src/jobs/chat.ts';

/** Reads a reply of these tokens. */
async function read(pieces: readonly string[]) {
  async function* reply(): AsyncGenerator<ChatEvent> {
    for (const token of pieces) {
      const logprobs = [{ token, logprob: -1, bytes: null, top: [] }];
      yield { type: 'delta', delta: { text: token, tokens: 1, logprobs } };
    }
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: pieces.length };
    yield { type: 'done', finishReason: 'stop', usage, timings: { prefillMs: 1, decodeMs: 1 } };
  }
  const seen = { text: '', tokens: 0, logprobs: '' };
  for await (const event of withoutResultMarks(reply())) {
    if (event.type !== 'delta') continue;
    const { text, tokens, logprobs = [] } = event.delta;
    seen.text += text;
    seen.tokens += tokens;
    seen.logprobs += logprobs.map(({ token }) => token).join('');
  }
  return seen;
}

const start = ['<', 'tool', '_response', '>', '\n'];
const end = ['\n', '</', 'tool', '_response', '>'];

test.each([
  [[...start, '4', ' pears', '.', ...end], '4 pears.'],
  [['Sorry', '.\n', ...start, '4', ...end, '\n', '5'], 'Sorry.\n4\n5'],
  [['Gute', ' Nacht', ...end], 'Gute Nacht'],
  [[...start, ...start, '4', '\n', ...end.slice(1), ...end], '4'],
  [['4 < 5', '\n', '\n', '<tool', '_responses>', '\n', '</tool'], null],
  [[...start.slice(0, 3), '>\n', '4', '.\n', '</', ...end.slice(2)], '4.'],
  [start.slice(0, 4), ''],
] as const)(
  '%j: an answer without the marks, whose tokens have no log probabilities',
  async (pieces, answer) => {
    const whole = pieces.join('');
    const text = answer ?? whole;
    const { logprobs, ...seen } = await read(pieces);
    expect(seen).toEqual({ text, tokens: pieces.length });
    // A token that ends in a mark keeps its own text.
    expect(logprobs.replace('4.\n', '4.')).toBe(text);
    expect(await read(whole.split(''))).toMatchObject({ text, logprobs: text });
    expect(await read([whole])).toMatchObject({ text });
  },
);
