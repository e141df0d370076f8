import { expect, test } from 'vitest';

import { TransformersChatEngine } from '../../../../src/engine/engines/transformers/onnx-chat-engine.ts';
import { ChatPrompt } from '../../../../src/engine/engines/chat-prompt.ts';
import type { ChatEvent, ChatJob, ChatMessage } from '../../../../src/protocol/job.ts';
import { END, FakeDecoder } from './fake-decoder.ts';

const TEMPLATE = '{% for m in messages %}{{ m.role[0] }}:{{ m.content }}|{% endfor %}>';
const never = new AbortController().signal;

const user = (content: string): ChatMessage => ({ role: 'user', content });
const job = (more: Partial<ChatJob> = {}): ChatJob => ({
  kind: 'chat',
  model: 'm',
  input: { messages: [user('hi')] },
  sampling: { temperature: 0, topP: 1 },
  ...more,
});

function make(decoder = new FakeDecoder()) {
  const engine = new TransformersChatEngine(
    decoder,
    new ChatPrompt(TEMPLATE, { bos: null, eos: null }, false),
    'fake',
  );
  const run = async (chatJob = job(), signal = never) => {
    const events: ChatEvent[] = [];
    for await (const event of engine.generate(chatJob, signal)) events.push(event);
    const deltas = events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []));
    return {
      events,
      deltas,
      text: deltas.map(({ text }) => text).join(''),
      done: events.find((event) => event.type === 'done'),
    };
  };
  return { decoder, engine, run };
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('nothing was thrown'),
    (error: unknown) => error,
  );

test('accepted before the prompt is computed, a delta a token, then the counts', async () => {
  const { decoder, engine, run } = make();
  const events = engine.generate(job(), never);
  expect((await events.next()).value).toEqual({
    type: 'accepted',
    accepted: { promptTokens: 6, cachedTokens: 0, fingerprint: 'fake' },
  });
  expect(decoder.steps).toEqual([]);
  await events.return();
  const { deltas, done } = await run();
  expect(deltas).toEqual([
    { text: 'o', tokens: 1 },
    { text: 'k', tokens: 1 },
  ]);
  expect(done).toMatchObject({
    finishReason: 'stop',
    usage: { promptTokens: 6, cachedTokens: 0, completionTokens: 3 },
    timings: { queueMs: 0, prefillMs: expect.any(Number) as number, decodeMs: expect.any(Number) as number },
  });
});

test('characters that span tokens come whole; one that never becomes whole is left out', async () => {
  const { decoder, run } = make();
  decoder.reply = new TextEncoder().encode('a€😀b');
  const { deltas, text } = await run();
  expect(text).toBe('a€😀b');
  expect(deltas.map((delta) => delta.tokens)).toEqual([1, 3, 4, 1]);
  decoder.reply = Uint8Array.of(97, 0xe2, 0x82);
  const cut = await run(job({ maxTokens: 3, topLogprobs: 0 }));
  expect(cut.deltas.map((delta) => [delta.text, delta.tokens, delta.logprobs?.length])).toEqual([
    ['a', 1, 1],
    ['', 2, 2],
  ]);
});

test('a long prompt is computed in pieces, and an abort is seen between them and between tokens', async () => {
  const { decoder, run } = make();
  const long = job({ input: { messages: [user('x'.repeat(20))] } });
  await run(long);
  expect(decoder.steps.slice(0, 3).map(({ length }) => length)).toEqual([8, 8, 8]);
  for (const after of [2, 4]) {
    const fresh = make();
    const controller = new AbortController();
    fresh.decoder.onStep = () => {
      if (fresh.decoder.steps.length + 1 === after) controller.abort(new Error('left'));
    };
    expect(await failure(fresh.run(long, controller.signal))).toMatchObject({ message: 'left' });
    expect(fresh.decoder.steps).toHaveLength(after);
    fresh.decoder.onStep = () => undefined;
    expect((await fresh.run()).text).toBe('ok');
  }
});

test('messages are let in between two tokens', async () => {
  const { decoder, engine } = make();
  decoder.reply = new TextEncoder().encode('abcdef');
  const controller = new AbortController();
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => controller.abort(new Error('told to stop'));
  const seen: string[] = [];
  const events = engine.generate(job(), controller.signal);
  const reading = (async () => {
    for await (const event of events) {
      if (event.type !== 'delta') continue;
      seen.push(event.delta.text);
      if (seen.length === 2) port2.postMessage(null);
    }
  })();
  expect(await failure(reading)).toMatchObject({ message: 'told to stop' });
  expect(seen.length).toBeLessThan(5);
  port1.close();
});

test('the next turn computes only what is new', async () => {
  const { decoder, run } = make();
  await run();
  const before = decoder.cached.length;
  const messages = [user('hi'), { role: 'assistant' as const, content: '' }, user('and?')];
  // As a template would write the reply: what is cached is a prefix of it.
  decoder.cached = [...new TextEncoder().encode('u:hi|a:')];
  const { done } = await run(job({ input: { messages } }));
  expect(before).toBe(8);
  expect(done).toMatchObject({ usage: { promptTokens: 'u:hi|a:|u:and?|>'.length, cachedTokens: 7 } });
  const other = await run(job({ input: { messages: [user('no')] } }));
  expect(other.done).toMatchObject({ usage: { cachedTokens: 0 } });
  // The same prompt again: it is in the cache with its reply, which cannot be cut off.
  expect((await run(job({ input: { messages: [user('no')] } }))).done).toMatchObject({
    usage: { cachedTokens: 0 },
  });
});

test('maxTokens, and the end of the context, are a length', async () => {
  const { decoder, run } = make();
  decoder.reply = new Uint8Array(500).fill(120);
  expect((await run(job({ maxTokens: 3 }))).done).toMatchObject({
    finishReason: 'length',
    usage: { completionTokens: 3 },
  });
  expect((await run()).done).toMatchObject({
    finishReason: 'length',
    usage: { completionTokens: 64 - 6 },
  });
});

test('a prompt over the context is refused with both numbers, before anything is computed', async () => {
  const { decoder, run } = make();
  const error = await failure(run(job({ input: { messages: [user('x'.repeat(60))] } })));
  expect(error).toMatchObject({ wire: { status: 400, code: 'context_length_exceeded', param: 'messages' } });
  expect(String(error)).toMatch(/64 tokens.* takes 64/);
  expect(decoder.steps).toEqual([]);
});

test('a raw prompt has no template, but the tokenizer’s own first token', async () => {
  const { decoder, run } = make();
  await run(job({ input: { prompt: 'Once>' } }));
  expect(decoder.steps[0]).toEqual([94, ...new TextEncoder().encode('Once>')]);
});

test('a partial reply is continued: only what is new comes, and counts', async () => {
  const { run } = make();
  const { text, done } = await run(job({ resume: { text: 'o', tokens: 1 } }));
  expect(text).toBe('k');
  expect(done).toMatchObject({ usage: { promptTokens: 7, completionTokens: 2 } });
});

test('a seed decides, and a reply that is continued draws as it would have', async () => {
  const { decoder, run } = make();
  decoder.next = () => Object.fromEntries('abcdefgh'.split('').map((letter) => [letter.charCodeAt(0), 0]));
  const sampled = (seed: number, more: Partial<ChatJob> = {}) =>
    run(job({ sampling: { temperature: 1, topP: 1, seed }, maxTokens: 20, ...more }));
  const first = await sampled(7);
  expect((await sampled(7)).text).toBe(first.text);
  expect((await sampled(8)).text).not.toBe(first.text);
  expect((await sampled(7 + 2 ** 32)).text).not.toBe(first.text);
  const begun = first.text.slice(0, 9);
  const rest = await sampled(7, { resume: { text: begun, tokens: 9 }, maxTokens: 11 });
  expect(begun + rest.text).toBe(first.text);
});

test('log probabilities are the model’s own, the best first, before any bias', async () => {
  const { decoder, run } = make();
  decoder.next = () => ({ 97: Math.log(6), 98: Math.log(3), 99: Math.log(1), [END]: -50 });
  const { deltas } = await run(
    job({
      maxTokens: 1,
      topLogprobs: 2,
      sampling: { temperature: 0, topP: 1, logitBias: { '98': 5 } },
    }),
  );
  const [told] = deltas[0]?.logprobs ?? [];
  expect(told).toMatchObject({ token: 'b', bytes: [98] });
  expect(told?.logprob).toBeCloseTo(Math.log(0.3), 4);
  expect(told?.top.map(({ token, logprob }) => [token, Math.round(Math.exp(logprob) * 100)])).toEqual([
    ['a', 60],
    ['b', 30],
  ]);
});

test('what it cannot do is refused, and names the field', async () => {
  const { run } = make();
  expect(await failure(run(job({ constraint: { kind: 'json_object' } })))).toMatchObject({
    wire: { status: 400, param: 'response_format', code: 'unsupported_value' },
  });
  expect(
    await failure(run(job({ sampling: { temperature: 0, topP: 1, logitBias: { '257': 1 } } }))),
  ).toMatchObject({ wire: { status: 400, param: 'logit_bias' } });
});

test('a step that fails has broken the engine; a device that was lost is distinguished; no numbers are no reply', async () => {
  const { decoder, run } = make();
  decoder.onStep = () => {
    throw new Error('failed to call OrtRun(). ERROR_CODE: 1');
  };
  expect(await failure(run())).toMatchObject({ wire: { code: 'engine_crashed' } });
  decoder.onStep = () => {
    throw new Error('WebGPU device lost: destroyed');
  };
  expect(await failure(run())).toMatchObject({ wire: { code: 'device_lost' } });
  const other = make();
  other.decoder.step = async () => new Float32Array(257).fill(Number.NaN);
  expect(await failure(other.run())).toMatchObject({ wire: { code: 'engine_failed' } });
});

test('one reply at a time, and unloading waits for it', async () => {
  const { decoder, engine, run } = make();
  const events = engine.generate(job(), never);
  await events.next();
  const second = run();
  const unloaded = engine.unload();
  for (let at = 0; at < 5; at++) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(decoder.steps).toEqual([]);
  while (!(await events.next()).done);
  expect((await second).text).toBe('ok');
  await unloaded;
  expect(decoder.cached).toEqual([]);
});
