import { beforeEach, describe, expect, test } from 'vitest';
import type { ChatEvent, ChatJob, ChatMessage } from '../../../../src/jobs/chat.ts';
import { fakeWebLlm } from './fake-pipeline.ts';
import { chatJob } from '../../../support/chat-job.ts';
import { failure } from '../../../support/failure.ts';
import { never } from '../../../support/never.ts';

type Fake = ReturnType<typeof fakeWebLlm>;

const job = (messages: ChatMessage[], more: Partial<ChatJob> = {}): ChatJob =>
  chatJob({ input: { messages }, ...more });
const user = (content: string): ChatMessage => ({ role: 'user', content });
const ask = (content: string, more: Partial<ChatJob> = {}) => job([user(content)], more);

async function run(asked: ChatJob, signal = never) {
  const events: ChatEvent[] = [];
  for await (const event of fake.chat.run(asked, signal)) events.push(event);
  const deltas = events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []));
  const done = events.find((event) => event.type === 'done');
  return { events, deltas, done, text: deltas.map(({ text }) => text).join('') };
}

let fake: Fake;
beforeEach(() => void (fake = fakeWebLlm()));

test('accepted, deltas, done: tokens and times are told in the contract’s units', async () => {
  fake.pipeline.answer = () => 'hello';
  const { events, text, deltas, done } = await run(ask('hi'));
  expect(events[0]).toEqual({
    type: 'accepted',
    accepted: {
      promptTokens: 1 + '<sys>the default|<user> hi|<bot> '.length,
      cachedTokens: 0,
      fingerprint: 'fake',
    },
  });
  expect(text).toBe('hello');
  expect(deltas.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(5);
  expect(done).toMatchObject({
    finishReason: 'stop',
    usage: { promptTokens: 34, cachedTokens: 0, completionTokens: 6 },
    timings: { prefillMs: 250, decodeMs: 500 },
  });
  expect(fake.lock.held).toBe(false);
});

test('accepted comes before the prompt is computed', async () => {
  const gate = new AbortController();
  fake.pipeline.onForward = () =>
    new Promise((resolve) => gate.signal.addEventListener('abort', () => resolve(), { once: true }));
  const events = fake.chat.run(ask('hi'), never)[Symbol.asyncIterator]();
  expect((await events.next()).value).toMatchObject({ type: 'accepted' });
  expect(fake.pipeline.pieces).toBe(0);
  fake.pipeline.onForward = () => undefined;
  gate.abort();
  expect((await events.next()).value).toMatchObject({ type: 'delta', delta: { text: 'o' } });
  await events.return?.();
});

test('the second turn counts its whole prompt, and says what the cache had of it', async () => {
  const first = await run(ask('hi'));
  const before = fake.pipeline.seen.length;
  const second = await run(job([user('hi'), { role: 'assistant', content: first.text }, user('and?')]));
  expect(second.done).toMatchObject({
    usage: { promptTokens: before + '<user> and?|<bot> '.length, cachedTokens: before },
  });
});

test('another conversation starts from an empty cache', async () => {
  await run(ask('hi'));
  const { done } = await run(job([user('no'), { role: 'assistant', content: 'other' }, user('and?')]));
  expect(done).toMatchObject({ usage: { cachedTokens: 0 } });
});

test('max_tokens is exact, also with an empty thinking block before the reply', async () => {
  fake = fakeWebLlm('<think>\n\n</think>\n\n');
  fake.pipeline.answer = () => 'abcdefgh';
  const { text, done } = await run(ask('hi', { maxTokens: 3 }));
  expect(text).toBe('abc');
  expect(done).toMatchObject({ finishReason: 'length', usage: { completionTokens: 3 } });
  expect(fake.pipeline.prompt).toContain('<bot> <think>\n\n</think>\n\n');
});

describe('thoughts, for a model whose replies begin with empty ones', () => {
  const reasoning = { effort: 'medium' } as const;
  const thinker = () => fakeWebLlm('<think>\n\n</think>\n\n');
  const kinds = ({ deltas }: Awaited<ReturnType<typeof run>>) => ({
    thoughts: deltas
      .filter((delta) => delta.isReasoning)
      .map(({ text }) => text)
      .join(''),
    answer: deltas
      .filter((delta) => !delta.isReasoning)
      .map(({ text }) => text)
      .join(''),
  });

  test('come when asked for, in the place of the empty ones', async () => {
    fake = thinker();
    fake.pipeline.answer = () => 'I add.\n</think>\n\nFour.';
    const reply = await run(ask('hi', { reasoning }));
    expect(kinds(reply)).toEqual({ thoughts: 'I add.', answer: 'Four.' });
    expect(reply.done).toMatchObject({ finishReason: 'stop' });
    expect(fake.pipeline.prompt).toContain('<bot> <think>\nI add.');
    expect([fake.chat.traits.thinks, fakeWebLlm().chat.traits.thinks]).toEqual([true, false]);
  });

  test('are ended by their budget, and the answer has the form', async () => {
    fake = thinker();
    fake.pipeline.answer = (prompt) => (prompt.endsWith('</think>\n\n') ? '{}' : 'abcdefghijkl');
    const formed = ask('hi', {
      reasoning,
      maxTokens: 12,
      constraint: { kind: 'grammar', gbnf: 'root ::= "{}"' },
    });
    const reply = await run(formed);
    expect(kinds(reply)).toEqual({ thoughts: 'abcdef', answer: '{}' });
    expect(fake.pipeline.prompt).toContain('<bot> <think>\nabcdef\n</think>\n\n{}');
    expect(fake.pipeline.generation?.response_format?.type).toBe('grammar');
    expect(fake.lock.held).toBe(false);
  });

  test('are continued, and answered once', async () => {
    fake = thinker();
    fake.pipeline.answer = () => 'd.</think>ok';
    const thoughts = { text: 'I ad', ended: false };
    const reply = await run(ask('hi', { reasoning, thoughts, resume: { text: '', tokens: 4 } }));
    expect(kinds(reply)).toEqual({ thoughts: 'd.', answer: 'ok' });
    fake.pipeline.answer = () => 'ur.';
    const ended = { text: 'I add.', ended: true };
    const rest = await run(ask('hi', { reasoning, thoughts: ended, resume: { text: 'Fo', tokens: 9 } }));
    expect(kinds(rest)).toEqual({ thoughts: '', answer: 'ur.' });
    expect(fake.pipeline.prompt).toMatch(/<bot> <think>\nI add\.\n<\/think>\n\nFour\.$/);
  });

  test('do not come unasked, nor where the client has begun the reply', async () => {
    fake = thinker();
    await run(ask('hi'));
    expect(fake.pipeline.prompt).toContain('<think>\n\n</think>\n\nok');
    await run(job([user('hi'), { role: 'assistant', content: 'Fo' }], { reasoning }));
    expect(fake.pipeline.prompt).toContain('<think>\n\n</think>\n\nFook');
  });
});

test('the end of the context is a length, too', async () => {
  fake.pipeline.answer = () => 'x'.repeat(1000);
  const { done } = await run(ask('hi'));
  expect(done).toMatchObject({ finishReason: 'length', usage: { completionTokens: 400 - 34 + 1 } });
});

test('bounds are those of the context that was loaded, which may be shorter than the configuration says', async () => {
  fake = fakeWebLlm('<think>\n\n</think>\n\n', 100);
  const resume = { text: 'x'.repeat(6401), tokens: 0 };
  for (const oversized of [ask('x'.repeat(3201)), ask('hi', { resume })])
    expect(String(await failure(run(oversized)))).toMatch(/is 100 tokens.* [36][24]01 characters/);
  expect(fake.pipeline.pieces).toBe(0);
  fake.pipeline.answer = () => 'x'.repeat(300);
  const { deltas, events } = await run(ask('hi', { reasoning: { effort: 'low' } }));
  const [accepted] = events;
  if (accepted?.type !== 'accepted') throw new Error('the prompt was not accepted');
  const thoughts = deltas.filter(({ isReasoning }) => isReasoning).map(({ text }) => text);
  expect(thoughts.join('')).toHaveLength(Math.floor((100 - accepted.accepted.promptTokens) * 0.2));
});

test('a prompt over the context fails before accepted, with both numbers', async () => {
  const error = await failure(run(ask('x'.repeat(500))));
  expect(error).toMatchObject({ wire: { status: 400, code: 'context_length_exceeded', param: 'messages' } });
  expect(String(error)).toMatch(/400 tokens.* takes 531/);
  expect((await run(ask('hi'))).text).toBe('ok');
});

test('a prompt is counted, also one over the context, and nothing is computed', async () => {
  const count = async (content: string) => (await run(ask(content, { countOnly: true }))).events;
  const accepted = (promptTokens: number) => [
    { type: 'accepted', accepted: { promptTokens, fingerprint: 'fake' } },
  ];
  expect(await count('hi')).toEqual(accepted(34));
  expect(await count('x'.repeat(500))).toEqual(accepted(532));
  expect(fake.pipeline.pieces).toBe(0);
  expect(fake.lock.held).toBe(false);
  expect((await run(ask('hi'))).done).toMatchObject({ usage: { promptTokens: 34 } });
  expect(String(await failure(run(ask('x'.repeat(500)))))).toMatch(/takes 531: 132 too many/);
});

test('system messages go to the front from wherever they are; names and dollar signs do no harm', async () => {
  await run(
    job([
      { role: 'user', content: 'pay $$5 or $& or $1', name: 'bob' },
      { role: 'system', content: "be $'brief" },
      { role: 'assistant', content: 'why $$?' },
      { role: 'system', content: 'and kind' },
      user('end'),
    ]),
  );
  expect(fake.pipeline.prompt).toBe(
    "<sys>be $'brief\n\nand kind|<user> pay $$5 or $& or $1|<bot> why $$?|<user> end|<bot> ok".replace(
      /ok$/,
      '',
    ) + 'ok',
  );
});

test("the configuration's own system message is used where the caller sends none", async () => {
  await run(job([user('hi')]));
  expect(fake.pipeline.prompt).toBe('<sys>the default|<user> hi|<bot> ok');
});

test('a partial reply is continued: only what is new comes, and counts', async () => {
  fake.pipeline.answer = () => 'cd';
  const { text, done } = await run(ask('hi', { resume: { text: 'ab', tokens: 2 }, maxTokens: 2 }));
  expect(fake.pipeline.prompt).toMatch(/<bot> abc$/);
  expect(text).toBe('cd');
  expect(done).toMatchObject({ finishReason: 'length', usage: { promptTokens: 36, completionTokens: 2 } });
});

test('a last message of the assistant is continued; a conversation without a user is answered', async () => {
  await run(job([user('hi'), { role: 'assistant', content: 'Well,' }]));
  expect(fake.pipeline.prompt).toBe('<sys>the default|<user> hi|<bot> Well,ok');
  await run(job([{ role: 'system', content: 'speak' }]));
  expect(fake.pipeline.prompt).toContain('<sys>speak|<user> |<bot> ');
});

test('a raw prompt has no template', async () => {
  fake.pipeline.answer = () => ' time';
  const { text, done } = await run({ ...ask(''), input: { prompt: 'Once upon a' } });
  expect(fake.pipeline.prompt).toContain('Once upon a');
  expect(fake.pipeline.prompt).not.toContain('<user>');
  expect(text).toBe(' time');
  expect(done).toMatchObject({ usage: { promptTokens: 11 } });
});

test('characters of several tokens come whole, with all their log probabilities', async () => {
  fake.pipeline.answer = () => 'a👋é!';
  const { deltas, text } = await run(ask('hi', { topLogprobs: 0 }));
  expect(text).toBe('a👋é!');
  expect(deltas.map((delta) => [delta.text, delta.tokens, delta.logprobs?.length])).toEqual([
    ['a', 1, 1],
    ['👋', 4, 4],
    ['é', 2, 2],
    ['!', 1, 1],
  ]);
  expect(deltas[0]?.logprobs?.[0]).toEqual({ token: 'a', bytes: [97], logprob: -9999, top: [] });
});

test('alternatives: as many as asked for, more than five refused by name', async () => {
  const { deltas } = await run(ask('hi', { topLogprobs: 3 }));
  expect(deltas[0]?.logprobs?.[0]?.top).toHaveLength(3);
  expect(await failure(run(ask('hi', { topLogprobs: 6 })))).toMatchObject({
    wire: { status: 400, param: 'top_logprobs' },
  });
});

test('log probabilities at temperature 0 are computed at temperature 1, from the most probable token alone', async () => {
  await run(ask('hi', { topLogprobs: 1 }));
  expect(fake.pipeline.generation).toMatchObject({ temperature: 1, top_p: 1e-5 });
  await run(ask('hi'));
  expect(fake.pipeline.generation).toMatchObject({ temperature: 0, top_p: 1e-5 });
});

test('sampling is passed on whole, and limits are ours to name', async () => {
  await run(
    ask('hi', {
      sampling: {
        temperature: 0.5,
        topP: 0,
        seed: 7,
        presencePenalty: 1,
        frequencyPenalty: -1,
        logitBias: { '97': 5 },
      },
    }),
  );
  expect(fake.pipeline.generation).toMatchObject({
    temperature: 0.5,
    top_p: 1e-5,
    presence_penalty: 1,
    frequency_penalty: -1,
    repetition_penalty: 1,
    logit_bias: { '97': 5 },
  });
  expect(fake.pipeline.seeds[0]).toBe(7);
  const unknown = ask('hi', { sampling: { temperature: 0, topP: 1, logitBias: { '256': 1 } } });
  expect(await failure(run(unknown))).toMatchObject({ wire: { status: 400, param: 'logit_bias.256' } });
});

test.each([-1, 0, 7, -(2 ** 31) + 1, 2 ** 31 - 1, -(2 ** 63), 2 ** 63])(
  'the seed %i is one that web-llm takes, the same each time',
  async (seed) => {
    const seeded = ask('hi', { sampling: { temperature: 1, topP: 1, seed } });
    const texts = [await run(seeded), await run(seeded)].map(({ text }) => text);
    expect(texts).toEqual(['ok', 'ok']);
    const [first = -1, , second] = fake.pipeline.seeds;
    expect(first).toBe(second);
    expect(Number.isInteger(first) && first >= 0).toBe(true);
  },
);

test('a grammar as EBNF, and one that cannot be compiled', async () => {
  const format = async (constraint: ChatJob['constraint']) => {
    await run(ask('hi', constraint ? { constraint } : {}));
    return fake.pipeline.generation?.response_format;
  };
  expect(await format({ kind: 'grammar', gbnf: 'root ::= "a.b" [.] . # any.\n' })).toEqual({
    type: 'grammar',
    grammar: 'root ::= "a.b" [.] [\\u0000-\\U0010FFFF] # any.\n',
  });

  const events: string[] = [];
  const bad = async () => {
    const constraint = { kind: 'grammar' as const, gbnf: 'bad' };
    for await (const event of fake.chat.run(ask('hi', { constraint }), never)) events.push(event.type);
  };
  expect(await failure(bad())).toMatchObject({ wire: { status: 400, param: 'response_format' } });
  expect(events).toEqual([]);
  expect((await run(ask('hi'))).text).toBe('ok');
});

test('a prompt is told to be computed before the first token, with a form, too', async () => {
  const order: string[] = [];
  const formed = ask('hi', { constraint: { kind: 'grammar', gbnf: 'root ::= "a"' } });
  const onPrefill = (): void => void order.push('prefill');
  for await (const { type } of fake.chat.run(formed, never, onPrefill)) order.push(type);
  expect(order.slice(0, 2)).toEqual(['prefill', 'accepted']);
});

test('an abort stops the tokens, ends the iterator and frees the lock', async () => {
  fake.pipeline.answer = () => 'x'.repeat(100);
  const controller = new AbortController();
  const events = fake.chat.run(ask('hi'), controller.signal)[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  controller.abort(new Error('gone'));
  expect(await failure(events.next())).toMatchObject({ message: 'gone' });
  expect(fake.lock.held).toBe(false);
  expect(fake.pipeline.decoded).toBeLessThan(4);
  fake.pipeline.answer = () => 'next';
  expect((await run(ask('hi'))).text).toBe('next');
});

test('an abort in a long prompt does not wait for its end', async () => {
  const controller = new AbortController();
  fake.pipeline.onForward = () => {
    if (fake.pipeline.pieces === 2) controller.abort(new Error('gone'));
  };
  expect(await failure(run(ask('x'.repeat(300)), controller.signal))).toMatchObject({ message: 'gone' });
  expect(fake.pipeline.pieces).toBe(3);
  expect(fake.lock.held).toBe(false);
  fake.pipeline.onForward = () => undefined;
  expect((await run(ask('hi'))).done).toMatchObject({ usage: { promptTokens: 34 } });
});

test('a reader that leaves frees the engine', async () => {
  fake.pipeline.answer = () => 'x'.repeat(100);
  for await (const event of fake.chat.run(ask('hi'), never)) if (event.type === 'delta') break;
  expect(fake.lock.held).toBe(false);
  expect((await run(ask('hi'))).text).toHaveLength(100);
});

test('a lost GPU ends the job at once, and every later one', async () => {
  fake.pipeline.onForward = () => {
    fake.loseDevice();
    return new Promise(() => undefined);
  };
  expect(await failure(run(ask('hi')))).toMatchObject({ wire: { status: 500, code: 'device_lost' } });
  expect(await failure(run(ask('hi')))).toMatchObject({ wire: { code: 'device_lost' } });
});
