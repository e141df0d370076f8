import OpenAI, { NotFoundError } from 'openai';
import { expect, test } from 'vitest';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { clientOf } from '../../../support/openai-client.ts';

/** Items of stored responses: referred to by id, listed in pages, and sent again as events. */

const model = 'amber-phoenix-4';
const light = {
  type: 'function' as const,
  name: 'light',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  strict: false,
};

async function connect(engine = new FakeEngine()) {
  const fake = await fakeService({ engine });
  return { ...fake, engine, clientFor: (apiKey: string) => clientOf(fake, apiKey), client: clientOf(fake) };
}

const promptOf = (engine: FakeEngine) => {
  const { input } = engine.jobs.at(-1) as ChatJob;
  return 'messages' in input ? input.messages : [];
};

const listed = async (client: OpenAI, id: string) => {
  const items = [];
  for await (const item of client.responses.inputItems.list(id, { order: 'asc', limit: 2 })) items.push(item);
  return items;
};

test('what Open Responses lets be null, absent or empty is taken', async () => {
  const { engine, fetch } = await connect();
  const create = async (body: object) => {
    const response = await fetch('/v1/responses', { json: { model, ...body } });
    return { status: response.status, body: (await response.json()) as OpenAI.Responses.Response };
  };
  const first = await create({ input: [{ type: null, role: 'user', content: 'Hi.' }] });
  expect(first).toMatchObject({ status: 200 });
  for (const rest of [{}, { input: null }, { input: [{ role: 'assistant', content: [] }] }])
    expect(await create({ previous_response_id: first.body.id, ...rest })).toMatchObject({ status: 200 });
  expect((await create({})).status).toBe(400);
  const choice = { type: 'allowed_tools', tools: [{ type: 'function', name: 'light' }] };
  const { status, body } = await create({ input: 'Hi.', tools: [light], tool_choice: choice });
  expect(status).toBe(200);
  expect(body.tool_choice).toEqual({ ...choice, mode: 'auto' });
  expect(JSON.stringify(promptOf(engine))).toContain('light');
});

test('a call that was cut off is no part of the conversation', async () => {
  const { client, engine } = await connect(
    new FakeEngine({ deltas: ['[{"name":"light","arguments":{'], finishReason: 'length' }),
  );
  const { id, output } = await client.responses.create({
    model,
    input: 'Light?',
    tools: [light],
    tool_choice: 'required',
    max_output_tokens: 3,
  });
  expect(output).toMatchObject([{ type: 'function_call', status: 'incomplete' }]);
  await client.responses.create({ model, input: 'And?', previous_response_id: id });
  expect(promptOf(engine).slice(-2)).toEqual([
    { role: 'user', content: 'Light?' },
    { role: 'user', content: 'And?' },
  ]);
  const call = { type: 'item_reference' as const, id: output[0]?.id ?? '' };
  await client.responses.create({ model, input: [call, { role: 'user', content: 'And?' }] });
  expect(promptOf(engine)).toEqual([{ role: 'user', content: 'And?' }]);

  const result = {
    type: 'function_call_output' as const,
    call_id: output[0]?.type === 'function_call' ? output[0].call_id : '',
    output: 'There was no such call.',
  };
  const { id: next } = await client.responses.create({
    model,
    input: [call, result, { role: 'user', content: 'And?' }],
  });
  expect(promptOf(engine)).toEqual([{ role: 'user', content: 'And?' }]);
  expect(await listed(client, next)).toMatchObject([{ type: 'message', role: 'user' }]);
  const unknown = { ...result, call_id: 'none' };
  await expect(client.responses.create({ model, input: [call, unknown] })).rejects.toMatchObject({
    status: 400,
    param: 'input[1].call_id',
  });
});

test.each([false, true])('every item of a response is accepted by its id, streamed: %s', async (stream) => {
  const { client, engine, fetch } = await connect(new FakeEngine({ thoughts: ['Hm.'] }));
  const request = {
    model,
    tools: [light],
    tool_choice: 'required' as const,
    input: [
      { role: 'developer' as const, content: 'Be brief.' },
      { role: 'user' as const, content: 'Light?' },
      { role: 'assistant' as const, content: 'Which?' },
      { type: 'reasoning' as const, id: 'mine', summary: [] },
      { type: 'function_call' as const, call_id: 'c1', name: 'light', arguments: '' },
      { type: 'function_call_output' as const, call_id: 'c1', output: 'on' },
    ],
  };
  const first = stream
    ? await client.responses.stream(request).finalResponse()
    : await client.responses.create(request);
  const input = await listed(client, first.id);
  const ids = [...input, ...first.output].map(({ id }) => id ?? '');
  expect(ids.map((id) => id.split('_')[0])).toEqual(['msg', 'msg', 'msg', 'rs', 'fc', 'fc', 'rs', 'fc']);
  expect(new Set(ids).size).toBe(8);

  for (const [index, typed] of ids.map((_, at) => [at, at % 2 === 0] as const)) {
    // A result needs its call before it.
    const before = index === 5 ? [{ id: ids[4] }] : [];
    const reference = { id: ids[index], ...(typed ? { type: 'item_reference' } : {}) };
    const user = { role: 'user', content: 'Go on.' };
    const response = await fetch('/v1/responses', { json: { model, input: [...before, reference, user] } });
    expect(response.status, await response.text()).toBe(200);
  }
  const all = await client.responses.create({
    model,
    input: ids.map((id) => ({ type: 'item_reference' as const, id })),
  });
  expect(promptOf(engine)).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Light?' },
    { role: 'assistant', content: 'Which?', toolCalls: [{ id: 'c1', name: 'light', arguments: '{}' }] },
    { role: 'tool', content: 'on', toolCallId: 'c1' },
    { role: 'assistant', content: '', toolCalls: [expect.objectContaining({ name: 'light' })] },
  ]);
  // What is referred to is listed under its first id.
  expect((await listed(client, all.id)).map(({ id }) => id)).toEqual(ids);
});

test('an item is of its key alone, and of a response that is kept', async () => {
  const { client, clientFor, keys } = await connect();
  const stranger = clientFor((await keys.issue({ label: 'stranger' })).key);
  const kept = await client.responses.create({ model, input: 'One.' });
  const lost = await client.responses.create({ model, input: 'One.', store: false });
  const ask = (asker: OpenAI, { output: [item] }: typeof kept) =>
    asker.responses.create({ model, input: [{ type: 'item_reference', id: item?.id ?? '' }] });
  expect((await ask(client, kept)).status).toBe('completed');
  await expect(ask(stranger, kept)).rejects.toBeInstanceOf(NotFoundError);
  await expect(ask(client, lost)).rejects.toMatchObject({ status: 404, param: 'input[0].id' });
  await client.responses.delete(kept.id);
  await expect(ask(client, kept)).rejects.toMatchObject({ status: 404, param: 'input[0].id' });
});

// Browsers report that a client has stopped reading after its next request.
test.each(['before', 'after'])('a reply is kept as far as it came, ended %s the next one', async (when) => {
  const { client, engine, fetch } = await connect(
    // The first reply does not go on after its first word.
    new FakeEngine((_, index) => (index === 0 ? { handOver: { after: 1, loadMs: 1e6 } } : {})),
  );
  const left = await fetch('/v1/responses', { json: { model, input: 'Hi.', stream: true } });
  const reader = left.body?.pipeThrough(new TextDecoderStream()).getReader();
  let events = '';
  while (!events.includes('"Hello"')) events += (await reader?.read())?.value ?? '';
  if (when === 'before') await reader?.cancel();
  const [id = ''] = /msg_\w+/.exec(events) ?? [];
  const input = [
    { type: 'item_reference' as const, id },
    { role: 'user' as const, content: 'Go on.' },
  ];
  const [response = ''] = /resp_[\w-]+/.exec(events) ?? [];
  await expect(client.responses.cancel(response)).rejects.toThrow('400 Only background responses');
  await client.responses.create({ model, input });
  expect(promptOf(engine)).toEqual([
    { role: 'assistant', content: expect.stringMatching(/^Hello/) as string },
    { role: 'user', content: 'Go on.' },
  ]);
  await client.responses.create({ model, input: 'Go on.', previous_response_id: response });
  expect(promptOf(engine)[1]).toEqual({
    role: 'assistant',
    content: expect.stringMatching(/^Hello/) as string,
  });
  if (when === 'after') await reader?.cancel();
  expect(await client.responses.retrieve(response)).toMatchObject({
    status: 'incomplete',
    incomplete_details: null,
    output: [{ id, status: 'incomplete' }],
  });
});

test('a reply that its client has left before its first item is kept, without a message', async () => {
  const { client, engine, fetch } = await connect(new FakeEngine({ delayMs: 50 }));
  const left = await fetch('/v1/responses', { json: { model, input: 'Hi.', stream: true } });
  const reader = left.body?.pipeThrough(new TextDecoderStream()).getReader();
  const [id = ''] = /resp_[\w-]+/.exec((await reader?.read())?.value ?? '') ?? [];
  await reader?.cancel();
  await client.responses.create({ model, input: 'Go on.', previous_response_id: id });
  expect(promptOf(engine)).toEqual([
    { role: 'user', content: 'Hi.' },
    { role: 'user', content: 'Go on.' },
  ]);
  expect(await client.responses.retrieve(id)).toMatchObject({ status: 'incomplete', output: [] });
});

test('references may not add up to more than a body', async () => {
  const { client, fetch } = await connect();
  const { id } = await client.responses.create({ model, input: 'x'.repeat(1024 * 1024) });
  const [item] = await listed(client, id);
  const json = { model, input: Array.from({ length: 40 }, () => ({ id: item?.id })) };
  const response = await fetch('/v1/responses', { json });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'input' } }]);
});

test('input items come in pages, with what output texts have', async () => {
  const { client, fetch } = await connect();
  const input = Array.from({ length: 25 }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${index}`,
  }));
  const { id } = await client.responses.create({ model, input });
  const page = async (query: string) => {
    const response = await fetch(`/v1/responses/${id}/input_items?${query}`);
    return [response.status, await response.json()] as const;
  };
  const [, newest] = await page('');
  expect(newest).toMatchObject({ has_more: true, first_id: expect.stringMatching(/^msg_.*_i24$/) as string });
  expect(newest.data).toHaveLength(20);
  expect(newest.last_id).toBe(newest.data.at(-1).id);
  const [, rest] = await page(`after=${newest.last_id}`);
  expect(rest).toMatchObject({ has_more: false });
  expect(rest.data.map(({ content }: { content: [{ text: string }] }) => content[0].text)).toEqual([
    ...'43210',
  ]);
  expect((await listed(client, id))[1]).toMatchObject({
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: '1', annotations: [], logprobs: [] }],
  });
  for (const [param, value] of [
    ['limit', '0'],
    ['limit', '101'],
    ['limit', 'x'],
    ['limit', '0x10'],
    ['limit', '1.0'],
    ['after', 'msg_1'],
    ['order', 'up'],
  ])
    expect(await page(`${param}=${value}`)).toMatchObject([400, { error: { param } }]);
});

test('tools in items keep their numbers, and belong to the conversation', async () => {
  const { fetch, engine } = await connect();
  const big = '{"2":{"const":1.0},"1":{"type":"integer","maximum":2512292042121000001}}';
  const tool = (name: string): string =>
    `{"type":"function","name":"${name}","parameters":{"type":"object","properties":${big}}}`;
  const post = async (body: string): Promise<string> => {
    const response = await fetch('/v1/responses', { method: 'POST', body });
    const { id, error } = (await response.json()) as { id: string; error: unknown };
    expect(error).toBeNull();
    return id;
  };
  const items = `[{"role":"user","content":"Hi."},{"type":"additional_tools","role":"developer","tools":[${tool('first')}]}]`;
  const id = await post(`{"model":"${model}","input":${items}}`);
  const list = await (await fetch(`/v1/responses/${id}/input_items`)).text();
  expect(list).toContain(big);
  await post(`{"model":"${model}","input":"Go on.","tools":[${tool('own')}],"previous_response_id":"${id}"}`);
  const prompt = JSON.stringify(promptOf(engine));
  for (const name of ['first', 'own']) expect(prompt).toContain(`\\"name\\":\\"${name}\\"`);
  expect(prompt).toContain(big.replaceAll('"', '\\"'));
});

test('tools in earlier items that cannot run, or that later ones replace, refuse no request', async () => {
  const { fetch } = await connect();
  const post = async (body: object): Promise<string> => {
    const response = await fetch('/v1/responses', {
      method: 'POST',
      body: JSON.stringify({ model, ...body }),
    });
    const { id, error } = (await response.json()) as { id: string; error: unknown };
    expect(error).toBeNull();
    return id;
  };
  const itemOf = (tool: object) => ({ type: 'additional_tools', role: 'developer', tools: [tool] });
  const user = { role: 'user', content: 'Hi.' };
  const search = itemOf({ type: 'web_search' });
  const id = await post({ input: [user, search], tools: [light] });
  await post({ input: 'Go on.', previous_response_id: id });
  const names = Array.from({ length: 500 }, (_, index) => `p${index}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const parameters = { type: 'object', properties, required: names, additionalProperties: false };
  const large = itemOf({ type: 'function', name: 'large', strict: true, parameters });
  await post({ input: [user, ...Array.from({ length: 9 }, () => large)] });
});

test.each(['text', 'function', 'cut off'])('a stored response is sent again as events: %s', async (kind) => {
  const { client, fetch } = await connect(new FakeEngine({ thoughts: ['Hm.'] }));
  const extra = {
    text: { include: ['message.output_text.logprobs' as const] },
    function: { tools: [light], tool_choice: 'required' as const },
    'cut off': { max_output_tokens: 2 },
  }[kind];
  const live: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ model, input: 'Hi.', stream: true, ...extra }))
    live.push(event);
  const [created] = live;
  const id = created?.type === 'response.created' ? created.response.id : '';
  const replayed = [];
  for await (const event of await client.responses.retrieve(id, { stream: true })) replayed.push(event);
  const types = (events: { type: string }[]) => [...new Set(events.map(({ type }) => type))];
  expect(types(replayed)).toEqual(types(live));
  expect({ ...replayed.at(-1), sequence_number: 0 }).toEqual({ ...live.at(-1), sequence_number: 0 });
  const itemsOf = (events: typeof live) =>
    events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
  expect(itemsOf(replayed)).toEqual(itemsOf(live));
  const lastText = live.findLastIndex((event) => 'delta' in event);
  for (const [after, expected] of [
    [3, replayed.slice(4)],
    [lastText, replayed.slice(lastText - live.length + 1)],
  ] as const) {
    const rest = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after }))
      rest.push(event);
    expect(rest).toEqual(expected);
    expect(replayed.filter((event) => event.sequence_number > after)).toEqual(expected);
  }
  for (const [query, param] of [
    ['stream=true&starting_after=x', 'starting_after'],
    ['stream=true&starting_after=0x1', 'starting_after'],
    ['stream=yes', 'stream'],
  ]) {
    const wrong = await fetch(`/v1/responses/${id}?${query}`);
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { param } }]);
  }
});

test('a response has a usage from the end on, and says when it was completed', async () => {
  const { client } = await connect();
  const seen = [];
  for await (const event of await client.responses.create({ model, input: 'Hi.', stream: true }))
    if ('response' in event) seen.push(event.response);
  expect(seen).toMatchObject([
    { usage: null, completed_at: null },
    { usage: null, completed_at: null },
    { usage: { total_tokens: 11 }, completed_at: expect.any(Number) as number },
  ]);
});
