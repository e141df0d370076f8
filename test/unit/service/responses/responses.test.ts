import OpenAI, { APIError, NotFoundError } from 'openai';
import { describe, expect, test } from 'vitest';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { withDatabase } from '../../../../src/database/database.ts';
import { createResponseStore, RESPONSE_LIFETIME_MS } from '../../../../src/database/response-store.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { clientOf } from '../../../support/openai-client.ts';

const model = 'amber-phoenix-4';
const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};

async function connect(engine = new FakeEngine(), options: Parameters<typeof fakeService>[0] = {}) {
  const fake = await fakeService({ ...options, engine });
  return { ...fake, clientFor: (apiKey: string) => clientOf(fake, apiKey), client: clientOf(fake) };
}

const messagesOf = (engine: FakeEngine, index: number) => {
  const { input } = engine.jobs[index] as ChatJob;
  return 'messages' in input ? input.messages.map(({ role, content }) => [role, content]) : [];
};

/** More events than a stream holds unread. */
const LONG = { deltas: Array.from({ length: 1000 }, () => 'x') };

/** Calls `during` with a response's id at its first text, while it waits for its reader. Then reads on if it resolves to true. */
async function streaming(client: OpenAI, store: boolean, during: (id: string) => Promise<boolean>) {
  let id = '';
  let isFirst = true;
  for await (const event of await client.responses.create({ model, input: 'Hi', stream: true, store })) {
    if (event.type === 'response.created') ({ id } = event.response);
    if (event.type !== 'response.output_text.delta' || !isFirst) continue;
    isFirst = false;
    if (!(await during(id))) break;
  }
}

describe('a response', () => {
  test('cut off by max_output_tokens', async () => {
    const { client } = await connect();
    for (const stream of [false, true]) {
      const cut = stream
        ? await client.responses.stream({ model, input: 'Hi.', max_output_tokens: 2 }).finalResponse()
        : await client.responses.create({ model, input: 'Hi.', max_output_tokens: 2 });
      expect(cut).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ status: 'incomplete', content: [{ text: 'Hello, ' }] }],
      });
    }
  });

  test('cut off by the content filter of a server, as chats and completions are', async () => {
    const { client } = await connect(new FakeEngine({ finishReason: 'content_filter' }));
    for (const stream of [false, true]) {
      const cut = stream
        ? await client.responses.stream({ model, input: 'Hi.' }).finalResponse()
        : await client.responses.create({ model, input: 'Hi.' });
      expect(cut).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'content_filter' },
        output: [{ status: 'incomplete' }],
      });
    }
    const messages = [{ role: 'user' as const, content: 'Hi.' }];
    const tools = [{ type: 'function' as const, function: weather }];
    const forced = { model, messages, tools, tool_choice: 'required' as const };
    for (const request of [{ model, messages }, forced]) {
      const { choices } = await client.chat.completions.create(request);
      expect(choices).toMatchObject([{ finish_reason: 'content_filter' }]);
    }
    const { choices } = await client.completions.create({ model, prompt: 'Hi.' });
    expect(choices).toMatchObject([{ finish_reason: 'content_filter' }]);
  });

  test('log probabilities, where they are included', async () => {
    const { client } = await connect();
    const { output } = await client.responses.create({
      model,
      input: 'Hi.',
      include: ['message.output_text.logprobs'],
      top_logprobs: 2,
    });
    const [item] = output;
    const [part] = item?.type === 'message' ? item.content : [];
    expect(part?.type === 'output_text' && part.logprobs).toHaveLength(4);
  });

  test('a failure in the stream is told, and thrown by the client', async () => {
    const { client } = await connect(new FakeEngine({ deltas: ['a'], fail: new Error('x') }));
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    const read = async () => {
      for await (const event of await client.responses.create({ model, input: 'Hi.', stream: true }))
        events.push(event);
    };
    await expect(read()).rejects.toBeInstanceOf(APIError);
    const failed = events.at(-1);
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', store: true, output: [{ type: 'message', status: 'incomplete' }] },
    });
    const { id = '' } = failed?.type === 'response.failed' ? failed.response : {};
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'failed' });
    const replayed = [];
    for await (const event of await client.responses.retrieve(id, { stream: true }))
      replayed.push({ ...event, sequence_number: expect.any(Number) as number });
    expect(events).toEqual(replayed);
  });
});

describe('functions', () => {
  test('called, streamed, and answered', async () => {
    const { client, engine } = await connect();
    const events = [];
    const stream = client.responses.stream({
      model,
      input: 'Weather?',
      tools: [weather],
      tool_choice: 'required',
    });
    for await (const event of stream) events.push(event.type);
    const first = await stream.finalResponse();
    expect(events.slice(2, 5)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
    ]);
    expect(events.slice(-3)).toEqual([
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no call');
    expect(call).toMatchObject({ name: 'get_weather', status: 'completed' });
    expect(JSON.parse(call.arguments)).toEqual({ city: 'some "text" {[ \\' });
    engine.reply = () => ({ deltas: ['Sunny.'] });
    const second = await client.responses.create({
      model,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: '{"sky":"clear"}' }],
    });
    expect(second.output_text).toBe('Sunny.');
    expect(messagesOf(engine, 1)).toEqual([
      ['user', 'Weather?'],
      ['assistant', ''],
      ['tool', '{"sky":"clear"}'],
    ]);
  });
});

describe('what is kept', () => {
  test('a conversation goes on, without the instructions before', async () => {
    const { client, engine } = await connect();
    const first = await client.responses.create({ model, input: 'One.', instructions: 'Old.' });
    const second = await client.responses.create({
      model,
      input: 'Two.',
      instructions: 'New.',
      previous_response_id: first.id,
    });
    expect(second.previous_response_id).toBe(first.id);
    expect(messagesOf(engine, 1)).toEqual([
      ['system', 'New.'],
      ['user', 'One.'],
      ['assistant', 'Hello, world!'],
      ['user', 'Two.'],
    ]);
  });

  test('is retrieved as it was sent, listed, and deleted', async () => {
    const { client } = await connect();
    const sent = await client.responses.create({ model, input: 'One.' });
    expect(await client.responses.retrieve(sent.id)).toEqual(sent);
    const items = [];
    for await (const item of client.responses.inputItems.list(sent.id)) items.push(item);
    expect(items).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'One.' }] },
    ]);
    await client.responses.delete(sent.id);
    await expect(client.responses.retrieve(sent.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(
      client.responses.create({ model, input: 'Two.', previous_response_id: sent.id }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
  });

  test('an empty input goes on from a response, and from nothing else', async () => {
    const engine = new FakeEngine();
    const { client } = await connect(engine);
    const { id } = await client.responses.create({ model, input: 'One.' });
    await client.responses.create({ model, input: [], previous_response_id: id });
    expect(messagesOf(engine, 1)).toEqual([...messagesOf(engine, 0), ['assistant', 'Hello, world!']]);
    await expect(client.responses.create({ model, input: [] })).rejects.toMatchObject({
      status: 400,
      param: 'input',
    });
  });

  test('a response that is still streamed is found, if it is kept, by its own key', async () => {
    const { client, clientFor, keys } = await connect(new FakeEngine(LONG));
    const stranger = clientFor((await keys.issue({ label: 'stranger' })).key);
    await streaming(client, false, async (id) => {
      await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
      return false;
    });
    await streaming(client, true, async (id) => {
      await expect(stranger.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
      await expect(stranger.responses.delete(id)).rejects.toBeInstanceOf(NotFoundError);
      expect(await client.responses.retrieve(id)).toMatchObject({ id, status: 'in_progress', usage: null });
      const { data } = await client.responses.inputItems.list(id);
      expect(data).toHaveLength(1);
      const again = client.responses.retrieve(id, { stream: true });
      await expect(again).rejects.toMatchObject({ status: 400, param: 'stream' });
      return false;
    });
  });

  test.each(['ends', 'fails', 'is left'])(
    'a response that is deleted before it %s stays deleted',
    async (how) => {
      const engine = new FakeEngine({ ...LONG, ...(how === 'fails' && { fail: new Error('broken') }) });
      const { client } = await connect(engine);
      let deleted = '';
      const read = streaming(client, true, async (id) => {
        deleted = id;
        await client.responses.delete(id);
        return how !== 'is left';
      });
      if (how === 'fails') await expect(read).rejects.toBeInstanceOf(APIError);
      else await read;
      await expect.poll(() => engine.running).toBe(0);
      await expect(client.responses.retrieve(deleted)).rejects.toBeInstanceOf(NotFoundError);
    },
  );

  test('store false keeps nothing', async () => {
    const { client } = await connect();
    const { id } = await client.responses.create({ model, input: 'One.', store: false });
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
  });

  test('is seen by its own key alone', async () => {
    const { client, clientFor, keys } = await connect();
    const { id } = await client.responses.create({ model, input: 'Secret.' });
    const stranger = clientFor((await keys.issue({ label: 'stranger' })).key);
    await expect(stranger.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(stranger.responses.delete(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(
      stranger.responses.create({ model, input: 'x', previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400 });
  });

  test('has a lifetime', async () => {
    let now = 1_700_000_000_000;
    const { client } = await connect(new FakeEngine(), { now: () => now });
    const { id } = await client.responses.create({ model, input: 'One.' });
    now += RESPONSE_LIFETIME_MS - 1;
    expect((await client.responses.retrieve(id)).id).toBe(id);
    now++;
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
  });

  test.each([
    ['in size', { responses: 1000, characters: 3500 }, 2e12 - 200],
    ['in number', { responses: 3, characters: 1e9 }, 2e12 - 100],
  ])('has a bound %s: the oldest make way', async (name, bounds, created) => {
    const store = createResponseStore('/', bounds);
    for (let index = 0; index < 5; index++) {
      await store.put({
        id: `${name} ${index}`,
        keyId: 'key',
        created: created + index,
        response: '{}',
        input: [],
        itemTools: [],
        messages: [{ role: 'user', content: 'x'.repeat(1000) }],
      });
    }
    await expect.poll(() => store.get(`${name} 1`)).toBeNull();
    for (const kept of [2, 3, 4]) expect(await store.get(`${name} ${kept}`)).not.toBeNull();
  });

  test('an app keeps more than a thousand', async () => {
    const store = createResponseStore('/');
    const put = (index: number): Promise<void> => {
      const created = 2e12 - 2000 + index;
      return store.put({
        id: `of many ${index}`,
        keyId: 'many',
        created,
        response: '{}',
        input: [],
        itemTools: [],
        messages: [],
      });
    };
    for (let index = 0; index < 1100; index++) await put(index);
    // It is read once the last put has pruned.
    expect(await store.get('of many 0')).not.toBeNull();
  });

  test('reads of the store leave turns to other requests', async () => {
    const store = createResponseStore('/');
    const ended: string[] = [];
    const read = (id: string) => store.get(id).then(() => void ended.push(id));
    const reads = ['1st', '2nd', '3rd', '4th'].map(read);
    const other = withDatabase('/', (database) => database.count('keys')).then(
      () => void ended.push('other'),
    );
    await Promise.all([...reads, other]);
    expect(ended.indexOf('other')).toBeLessThan(2);
  });

  test("another key's answers drive none out", async () => {
    const store = createResponseStore('/', { responses: 2, characters: 1e9 });
    const put = (id: string, keyId: string, created: number): Promise<void> =>
      store.put({ id, keyId, created, response: '{}', input: [], itemTools: [], messages: [] });
    await put('first', 'quiet', 2e12 - 300);
    for (let index = 0; index < 5; index++) await put(`busy ${index}`, 'busy', 2e12 - 200 + index);
    await expect.poll(() => store.get('busy 2')).toBeNull();
    expect(await store.get('first')).not.toBeNull();
  });

  test('an image is stored once, and an answer that does not fit says so', async () => {
    const url = `data:image/png;base64,${'A'.repeat(10_000)}`;
    const content = [
      { type: 'input_text', text: 'What?' },
      { type: 'input_image', image_url: url },
    ];
    const stored = {
      id: 'seen',
      keyId: 'key',
      created: 2e12 - 50,
      response: '{"url":1}',
      input: [{ role: 'user', content, url: 0 }],
      itemTools: [],
      messages: [{ role: 'user' as const, content: 'What?', images: [{ at: 5, url, param: 'input' }] }],
    };
    const store = createResponseStore('/', { responses: 9, characters: 11_000 });
    await store.put(stored);
    expect(await store.get('seen')).toEqual(stored);
    const small = createResponseStore('/', { responses: 9, characters: 10_000 });
    await expect(small.put({ ...stored, id: 'large' })).rejects.toThrow('larger than the store');
    expect(await small.get('large')).toBeNull();
  });

  test('a store that fails costs the reply nothing, and the reply says so', async () => {
    const responses = {
      put: () => Promise.reject(new Error('quota')),
      get: () => Promise.resolve(null),
      delete: () => Promise.resolve(),
    };
    const { client } = await connect(new FakeEngine(), { responses });
    const response = await client.responses.create({ model, input: 'One.' });
    expect(response).toMatchObject({ output_text: 'Hello, world!', store: false });
  });
});
