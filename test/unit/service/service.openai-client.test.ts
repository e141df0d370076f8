import * as six from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import * as seven from 'openai-7';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { FakeEngine } from '../../support/fake-engine.ts';
import { fakeService } from '../../support/fake-service.ts';

const model = 'amber-phoenix-4';
const messages = [{ role: 'user' as const, content: 'Say hello.' }];

const light = z.object({ mode: z.enum(['on', 'off']) });

/** Typed as one: what the tests use is the same in both. */
const majors = [
  ['6', six],
  ['7', seven as unknown as typeof six],
] as const;

async function connectWith(client: typeof six, engine = new FakeEngine()) {
  const { service, key } = await fakeService({ engine });
  return new client.OpenAI({
    apiKey: key,
    baseURL: 'https://site.example/v1',
    maxRetries: 0,
    fetch: (url, init) => service(new Request(url, init)),
  });
}

describe.each(majors)('the OpenAI client %s', (_, library) => {
  const { AuthenticationError, BadRequestError, NotFoundError } = library;
  const connect = (engine?: FakeEngine) => connectWith(library, engine);

  test('completes a chat, whole and streamed', async () => {
    const client = await connect();
    const whole = await client.chat.completions.create({ model, messages });
    expect(whole.choices[0]?.message.content).toBe('Hello, world!');
    let text = '';
    const chunks = await client.chat.completions.create({ model, messages, stream: true });
    for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello, world!');
    const helper = client.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    expect(await helper.finalContent()).toBe('Hello, world!');
    expect((await helper.totalUsage()).completion_tokens).toBe(4);
  });

  test('embeds, decoding base64 by itself, and lists', async () => {
    const client = await connect();
    const { data } = await client.embeddings.create({ model: 'jade-mole-4', input: ['a', 'bb'] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
    const listed = [];
    for await (const one of client.models.list()) listed.push(one.id);
    expect(listed).toEqual(['crimson-falcon-4', 'indigo-owl-4', 'amber-phoenix-4', 'jade-mole-4']);
    expect((await client.models.retrieve('jade-mole-4')).id).toBe('jade-mole-4');
  });

  test('throws its own class for each status', async () => {
    const client = await connect();
    const { completions } = client.chat;
    await expect(completions.create({ model, messages: [] })).rejects.toBeInstanceOf(BadRequestError);
    await expect(completions.create({ model: 'none', messages })).rejects.toBeInstanceOf(NotFoundError);
    const stranger = client.withOptions({ apiKey: 'lt_none' });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(AuthenticationError);
  });

  test('parse with zod, of chats and of responses', async () => {
    const client = await connect();
    const chat = await client.chat.completions.parse({
      model,
      messages,
      response_format: zodResponseFormat(light, 'light'),
    });
    expect(chat.choices[0]?.message.parsed).toEqual({ mode: 'on' });
    const text = { format: zodTextFormat(light, 'light') };
    expect((await client.responses.parse({ model, input: 'On.', text })).output_parsed).toEqual({
      mode: 'on',
    });
  });
});

test('decisions.create of version 7 answers typed questions', async () => {
  const client = (await connectWith(seven as unknown as typeof six)) as unknown as seven.OpenAI;
  const choices = [{ value: 'sports' }, { value: 'food' }];
  const asked = { model: 'jade-mole-4', input: 'Fry the onions.' };
  const { answers } = await client.decisions.create({
    ...asked,
    questions: [
      { type: 'choice', name: 'topic', instructions: 'Which topic?', choices },
      { type: 'predicate', instructions: 'It is about cooking.' },
      { type: 'score', instructions: 'How urgent is it?', levels: [{ label: 'low' }, { label: 'high' }] },
    ],
  });
  expect(answers).toMatchObject([
    { type: 'choice', name: 'topic', choice: 'sports', probabilities: choices },
    { type: 'predicate', name: null, probability: 2 / 3 },
    { type: 'score', probabilities: [{ label: 'low' }, { label: 'high' }] },
  ]);
  const refused = { type: 'choice' as const, instructions: 'Which?', choices: choices.slice(1) };
  await expect(client.decisions.create({ ...asked, questions: [refused] })).rejects.toMatchObject({
    status: 400,
    param: 'questions[0].choices',
  });
});
