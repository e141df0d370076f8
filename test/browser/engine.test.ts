import { expect, test } from 'vitest';

import { sharedPage } from '../support/shared-page.ts';
import { dot, embed } from '../support/ask-page.ts';
import { send } from '../support/send.ts';

/** What the engines themselves must hold to, on real weights, asked for through /v1. */

const tab = sharedPage({}, 'amber-phoenix-4');

interface Reply {
  choices?: { message: { content: string } }[];
  error?: { message: string; param: string | null };
}

interface Answer {
  status: number;
  text: string;
  message: string;
  param: string | null;
}

type Body = Record<string, unknown> & { content?: string };

/** At temperature 0. */
async function ask({ content = 'Write two sentences about the sea.', ...more }: Body): Promise<Answer> {
  const messages = [{ role: 'user', content }];
  const json = { model: 'amber-phoenix-4', messages, temperature: 0, ...more };
  const { status, body } = await send<Reply>(tab.page, tab.key, '/v1/chat/completions', json);
  const { message = '', param = null } = body.error ?? {};
  return { status, text: body.choices?.[0]?.message.content ?? '', message, param };
}

const askAll = (bodies: Body[]): Promise<Answer[]> => Promise.all(bodies.map(ask));

test('concurrent chats give the same texts as alone; a refused one fails alone', async () => {
  const contents = ['Name a river.', 'Name a tree.', 'Write one sentence about snow.'];
  const bodies: Body[] = contents.map((content) => ({ content, max_tokens: 8 }));
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/nowhere' } }, required: ['a'] };
  const bad = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }, max_tokens: 8 };
  const together = await askAll([...bodies, bad]);
  expect(together[3]).toMatchObject({ status: 400, param: expect.stringContaining('response_format') });
  for (const [at, body] of bodies.entries()) expect((await ask(body)).text).toBe(together[at]?.text);
});

test('the longest string that a schema may ask for is begun', async () => {
  const json_schema = { name: 'x', schema: { type: 'string', minLength: 4096 } };
  const reply = await ask({ response_format: { type: 'json_schema', json_schema }, max_tokens: 8 });
  expect(reply).toMatchObject({ status: 200, text: expect.stringMatching(/^"[^"]+$/) as string });
});

test('a penalty counts the tokens of the reply, and not those of its prompt', async () => {
  const body: Body = { content: 'Hello! '.repeat(20), max_tokens: 2 };
  expect((await ask({ ...body, frequency_penalty: 2 })).text).toBe((await ask(body)).text);
});

test('text that is not UTF-8 is replaced, and neither the engine nor what runs beside it ends', async () => {
  const crashes: string[] = [];
  tab.page.on(
    'console',
    (message) => message.text().includes('engine crashed') && crashes.push(message.text()),
  );
  const beside = { content: 'Name a river.', max_tokens: 8 };
  const alone = await ask(beside);
  // In this model's vocabulary 218 is the byte 0x80, which no character begins with.
  const bytes = { logit_bias: { 218: 100 }, max_tokens: 4 };
  const [broken, whole] = await askAll([bytes, beside]);
  expect(broken).toMatchObject({ status: 200, text: expect.stringMatching(/^\ufffd+$/) as string });
  expect(whole?.text).toBe(alone.text);
  expect((await ask(bytes)).text).toBe(broken?.text);
  expect(crashes).toEqual([]);
});

test('a prompt longer than the context is refused while another one is computed', async () => {
  const ended: number[] = [];
  const say = (words: number) =>
    ask({ content: 'word '.repeat(words), max_tokens: 1 }).then(() => ended.push(words));
  await Promise.all([500, 9000].map(say));
  expect(ended).toEqual([9000, 500]);
});

test('a bias decides, and one on a token that there is not is refused', async () => {
  // 28120 is `hello` in this model's vocabulary, and 49151 its last token.
  const biased = { max_tokens: 3, logit_bias: { 28120: 100, 49151: -100 } };
  expect((await ask(biased)).text).toBe('hellohellohello');
  const beyond = await ask({ max_tokens: 3, logit_bias: { 28120: 100, 49152: -100 } });
  expect(beyond).toMatchObject({ status: 400, param: 'logit_bias.49152' });
  expect(beyond.message).toMatch(/49151/);
});

// `SlotPredictor` predicts which slot llama.cpp's server picks, by rules that are the server's own and may change.
test('five conversations over four slots: each prompt is computed once', async () => {
  const usages = await tab.page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    // Long words, so that few tokens are worth keeping.
    const words =
      'international communication understanding responsibility environmental administration'.split(' ');
    const text = (count: number, from: number) =>
      Array.from({ length: count }, (_, at) => words[(at * (from + 1) + from) % words.length]).join(' ');
    const conversations = Array.from({ length: 5 }, (_, at) => [
      { role: 'system' as const, content: text(24, 0) },
      { role: 'user' as const, content: `${at}: ${text(20, at)}` },
    ]);
    const usageOf = async (messages: (typeof conversations)[number]) => {
      const { usage } = await client.chat.completions.create({
        model: 'amber-phoenix-4',
        messages,
        max_tokens: 1,
        temperature: 0,
      });
      return { prompt: usage?.prompt_tokens ?? 0, cached: usage?.prompt_tokens_details?.cached_tokens ?? 0 };
    };
    const first = [];
    for (const messages of conversations) first.push(await usageOf(messages));
    const second = [];
    for (const messages of conversations)
      second.push(await usageOf([...messages, { role: 'user', content: 'Go on.' }]));
    return { first, second };
  }, tab.key);
  // The system message once, and of each second turn only what is new.
  for (const { cached } of usages.first.slice(1)) expect(cached).toBeGreaterThanOrEqual(24);
  for (const [at, { cached }] of usages.second.entries()) {
    const before = usages.first[at]?.prompt ?? 0;
    expect(cached).toBeGreaterThanOrEqual(before - 8);
  }
});

test('concurrent embeddings equal those in turn', async () => {
  const vectorOf = async (input: string) => (await embed(tab.page, tab.key, 'jade-mole-4', input))[0];
  const inputs = Array.from({ length: 12 }, (_, index) => 'the sea '.repeat(index + 1));
  const together = await Promise.all(inputs.map(vectorOf));
  for (const [at, input] of inputs.entries())
    expect(dot(await vectorOf(input), together[at])).toBeCloseTo(1, 5);
});
