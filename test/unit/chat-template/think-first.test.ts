import { describe, expect, test } from 'vitest';

import { answerPrompt, thinkFirst, type Completion } from '../../../src/chat-template/think-first.ts';
import type { ThinkTags } from '../../../src/chat-template/think-tags.ts';
import type { ChatEvent, ChatJob } from '../../../src/jobs/chat.ts';
import { chatJob } from '../../support/chat-job.ts';

const tags = { open: '<think>', close: '</think>' };
const job = chatJob({ reasoning: { effort: 'medium' } });

/** Completes each prompt with the next of these texts, a character a token. */
function engine(...texts: string[]) {
  const prompts: Completion[] = [];
  let stopped = 0;
  async function* complete(completion: Completion): AsyncGenerator<ChatEvent> {
    const text = texts[prompts.length] ?? '';
    prompts.push(completion);
    const { maxTokens = Infinity, topLogprobs } = completion;
    const tokens = [...text].slice(0, maxTokens);
    let isWhole = false;
    try {
      yield { type: 'accepted', accepted: { promptTokens: 10, fingerprint: 'f' } };
      for (const token of tokens) {
        const logprobs =
          topLogprobs === undefined ? {} : { logprobs: [{ token, logprob: -1, bytes: null, top: [] }] };
        yield { type: 'delta', delta: { text: token, tokens: 1, ...logprobs } };
      }
      isWhole = true;
      yield {
        type: 'done',
        finishReason: tokens.length < text.length ? 'length' : 'stop',
        usage: { promptTokens: 10, cachedTokens: 4, completionTokens: tokens.length },
        timings: { prefillMs: 1, decodeMs: 2 },
      };
    } finally {
      if (!isWhole) stopped++;
    }
  }
  return { prompts, complete, stopped: () => stopped };
}

async function run(
  asked: ChatJob,
  fake: ReturnType<typeof engine>,
  isInside = true,
  contextLength = 1000,
  of: ThinkTags = tags,
) {
  const reply = { reasoning: '', text: '', thought: 0, answered: 0, logprobs: '', accepted: 0 };
  let done: Extract<ChatEvent, { type: 'done' }> | null = null;
  const append = (prompt: string, text: string): string => prompt + text;
  const thinking = { tags: of, isInside };
  const { complete } = fake;
  for await (const event of thinkFirst(asked, 'P<think>\n', thinking, { complete, append, contextLength })) {
    if (event.type === 'accepted') reply.accepted++;
    if (event.type === 'done') done = event;
    if (event.type !== 'delta') continue;
    const { text, tokens, isReasoning, logprobs = [] } = event.delta;
    reply[isReasoning ? 'reasoning' : 'text'] += text;
    reply[isReasoning ? 'thought' : 'answered'] += tokens;
    reply.logprobs += logprobs.map(({ token }) => token).join('');
  }
  return { ...reply, finish: done?.finishReason, usage: done?.usage };
}

test('one completion where nothing is prescribed', async () => {
  const fake = engine('I add.\n</think>\n\nFour.');
  expect(await run(job, fake)).toMatchObject({
    reasoning: 'I add.',
    text: 'Four.',
    thought: 15,
    answered: 7,
    accepted: 1,
    finish: 'stop',
    usage: { promptTokens: 10, completionTokens: 22 },
  });
  expect(fake.prompts).toEqual([{ prompt: 'P<think>\n' }]);
});

test('the answer’s form begins after the closing tag, and log probabilities are of the answer', async () => {
  const fake = engine('I add.\n</think>', '4');
  const constraint = { kind: 'json_object' } as const;
  const reply = await run({ ...job, constraint, topLogprobs: 0, maxTokens: 100 }, fake);
  expect(reply).toMatchObject({ reasoning: 'I add.', text: '4', logprobs: '4', accepted: 1, finish: 'stop' });
  expect(reply.usage).toEqual({ promptTokens: 10, cachedTokens: 0, completionTokens: 16 });
  expect(fake.prompts).toEqual([
    { prompt: 'P<think>\n', maxTokens: 100 },
    { prompt: 'P<think>\nI add.\n</think>\n\n', maxTokens: 85, constraint, topLogprobs: 0 },
  ]);
});

describe('a budget ends the thoughts, and an answer follows', () => {
  const long = 'abcdefghijklmnopqrstuvwxyz';
  test.each([
    ['none', 0, ''],
    ['minimal', 2, 'ab'],
    ['low', 4, 'abcd'],
    ['medium', 10, 'abcdefghij'],
    ['high', 16, 'abcdefghijklmnop'],
    ['xhigh', 19, 'abcdefghijklmnopqrs'],
  ] as const)('effort %s: %i of 20 tokens', async (effort, thought, reasoning) => {
    const fake = effort === 'none' ? engine('Four.') : engine(long, 'Four.');
    const reply = await run({ ...job, reasoning: { effort }, maxTokens: 20 }, fake);
    const most = 20 - thought;
    expect(reply).toMatchObject({ reasoning, thought, text: 'Four.'.slice(0, most), accepted: 1 });
    expect(fake.prompts.at(-1)).toEqual({ prompt: `P<think>\n${reasoning}\n</think>\n\n`, maxTokens: most });
    expect(reply.usage?.completionTokens).toBe(thought + Math.min(5, most));
    expect(fake.stopped()).toBe(effort === 'none' ? 0 : 1);
  });

  test('without a limit it is a share of the context that is left', async () => {
    const reply = await run(job, engine(long, 'Four.'), true, 30);
    expect(reply).toMatchObject({ thought: 10, text: 'Four.' });
  });

  test('a continued reply has what is left of it', async () => {
    const resumed = {
      ...job,
      maxTokens: 14,
      thoughts: { text: 'abcdef', ended: false },
      resume: { text: '', tokens: 6 },
    };
    expect(await run(resumed, engine(long, 'Four.'))).toMatchObject({ thought: 4, text: 'Four.' });
  });

  test('half a closing tag is not part of them', async () => {
    const fake = engine('abcde</thin', 'Four.');
    expect(await run({ ...job, maxTokens: 20 }, fake)).toMatchObject({ reasoning: 'abcde', text: 'Four.' });
    expect(fake.prompts[1]?.prompt).toBe('P<think>\nabcde\n</think>\n\n');
  });
});

test('a model that closes its thoughts once more, after they were closed for it', async () => {
  const fake = engine('abcdefghijk', '\n</think>\n\nFour.');
  expect(await run({ ...job, maxTokens: 30 }, fake)).toMatchObject({
    reasoning: 'abcdefghijk',
    text: 'Four.',
  });
  const cut = engine('abcdefghijk', '</thi');
  expect(await run({ ...job, maxTokens: 30 }, cut)).toMatchObject({ text: '</thi' });
});

test('an answer that goes on after a pause does not show the tag that closes it', async () => {
  const answerTags = { open: '<answer>', close: '</answer>' };
  const resume = { text: 'Fo', tokens: 2 };
  for (const thoughts of [undefined, { text: 'I add.', ended: true }]) {
    const paused = { ...job, resume, ...(thoughts && { thoughts }) };
    const reply = await run(paused, engine('ur.\n</answer>'), false, 1000, { ...tags, answerTags });
    expect(reply).toMatchObject({ text: 'ur.', finish: 'stop' });
  }
});

test('a turn that ends in thought is answered, and a context that is full ends the reply', async () => {
  expect(await run(job, engine('I add.', 'Four.'))).toMatchObject({
    reasoning: 'I add.',
    text: 'Four.',
    finish: 'stop',
  });
  const full = engine('I add.');
  full.complete = async function* () {
    yield { type: 'accepted', accepted: { promptTokens: 10, fingerprint: 'f' } };
    yield { type: 'delta', delta: { text: 'I add', tokens: 1 } };
    const usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 1 };
    yield { type: 'done', finishReason: 'length', usage, timings: { prefillMs: 0, decodeMs: 0 } };
  };
  expect(await run(job, full)).toMatchObject({ reasoning: 'I add', text: '', finish: 'length' });
});

test('a tag that the model opens by itself is found, with the answer’s log probabilities', async () => {
  const plain = engine('<think>x</think>Four.');
  expect(await run(job, plain, false)).toMatchObject({ reasoning: 'x', text: 'Four.' });
  const counted = engine('<think>x</think>\n4');
  expect(await run({ ...job, topLogprobs: 0 }, counted, false)).toMatchObject({
    reasoning: 'x',
    text: '4',
    logprobs: '4',
  });
  const none = engine('<4');
  expect(await run({ ...job, topLogprobs: 0 }, none, false)).toMatchObject({ text: '<4', logprobs: '<4' });
});

test('log probabilities change nothing: one completion, whose answer has them', async () => {
  const text = 'I add.\n</think>\n\n</think>\n Four, \n4.';
  const [plain, scored] = [engine(text), engine(text)];
  const expected = await run(job, plain);
  const reply = await run({ ...job, topLogprobs: 0 }, scored);
  expect(reply).toEqual({ ...expected, logprobs: 'Four, \n4.' });
  expect(scored.prompts).toEqual([{ prompt: 'P<think>\n', topLogprobs: 0 }]);
  const budget = { ...job, maxTokens: 30 };
  const again = () => engine('abcdefghijklmnopqrst', '\n</think>\n\nFour.');
  expect(await run({ ...budget, topLogprobs: 0 }, again())).toEqual({
    ...(await run(budget, again())),
    logprobs: 'Four',
  });
});

test('what is asked without thoughts follows the prompt of the answer', () => {
  const brackets = { open: '[THINK]', close: '[/THINK]', space: 'none' } as const;
  const opening = (isInside: boolean) => ({ prompt: 'P', thinking: { tags: brackets, isInside } });
  expect(answerPrompt(opening(true))).toBe('P[/THINK]');
  expect(answerPrompt(opening(false))).toBe('P');
  expect(answerPrompt({ prompt: 'P<think>\n', thinking: { tags, isInside: true } })).toBe(
    'P<think>\n\n</think>\n\n',
  );
  expect(answerPrompt({ prompt: 'P', thinking: null })).toBe('P');
});
