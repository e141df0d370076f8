import OpenAI from 'openai-7';
import { describe, expect, test } from 'vitest';

import { compileSchema } from '../../../../src/grammar/compile-schema.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { CallReader } from '../../../../src/service/tools/call-reader.ts';
import { Random } from '../../../chaos/random.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { GbnfSampler } from '../../../support/grammar/sample-gbnf.ts';

/** Custom tools and namespaces, as today's client sends them. */

const model = 'amber-phoenix-4';
const content = 'Go.';
const messages = [{ role: 'user' as const, content }];

async function connect(...deltas: string[]) {
  const engine = new FakeEngine(deltas.length > 0 ? { deltas } : {});
  const { service, key } = await fakeService({ engine });
  const client = new OpenAI({
    apiKey: key,
    baseURL: 'https://site.example/v1',
    maxRetries: 0,
    fetch: (input, init) => service(new Request(input, init)),
  });
  return { client, engine };
}

const chatJob = (engine: FakeEngine): ChatJob => engine.jobs.find((job) => job.kind === 'chat') as ChatJob;
const promptOf = (engine: FakeEngine) => {
  const { input } = chatJob(engine);
  return 'messages' in input ? input.messages : [];
};

/** Texts of a job's grammar. */
function draws(engine: FakeEngine): string[] {
  const { constraint } = chatJob(engine);
  if (constraint?.kind !== 'json_schema') throw new Error('the job has no schema');
  const sampler = new GbnfSampler(compileSchema(constraint.schema, constraint).gbnf);
  return Array.from({ length: 20 }, (_, seed) => sampler.draw(new Random(seed)) ?? '');
}

const run = { type: 'custom' as const, custom: { name: 'run', description: 'Runs code.' } };
const called = (name: string, json: string): string => `[{"name":"${name}","arguments":${json}}]`;

describe('chat completions', () => {
  test('a custom tool has one text', async () => {
    const { client, engine } = await connect(called('run', '{"input":"print(\\"hi\\")\\n\\ud83d\\ude00"}'));
    const { choices } = await client.chat.completions.create({
      model,
      messages,
      tools: [run],
      tool_choice: { type: 'custom', custom: { name: 'run' } },
    });
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: expect.any(String), type: 'custom', custom: { name: 'run', input: 'print("hi")\n😀' } },
    ]);
    expect(promptOf(engine)[0]?.content).toContain('"name":"run","description":"Runs code."');
    for (const text of draws(engine))
      expect(JSON.parse(text)).toEqual([{ name: 'run', arguments: { input: expect.any(String) } }]);
  });

  test('streamed, the text arrives in pieces', async () => {
    const json = called('run', '{ "input": "a\\u00e9\\\\\\"b\\ud83d\\ude00\\ud83dx C:\\users" }');
    const { client } = await connect(...json.split(''));
    const stream = await client.chat.completions.create({
      model,
      messages,
      tools: [run],
      tool_choice: 'required',
      stream: true,
    });
    const pieces: { type?: string; custom?: { name?: string; input?: string } }[] = [];
    for await (const { choices } of stream)
      for (const piece of choices[0]?.delta.tool_calls ?? []) pieces.push(piece as (typeof pieces)[number]);
    expect(pieces[0]).toMatchObject({ index: 0, type: 'custom', custom: { name: 'run', input: '' } });
    const inputs = pieces.map(({ custom }) => custom?.input ?? '');
    expect(inputs.join('')).toBe('aé\\"b😀\ud83dx C:\\users');
    expect(inputs.filter((input) => !input.isWellFormed())).toEqual(['\ud83dx']);
  });

  test.each(['a|[0-9]{3}', '^(?P<a>a|[0-9]{3})$', String.raw`\A(a$|\d{3})\z`])(
    'a pattern is enforced: %s',
    async (definition) => {
      const format = { type: 'grammar' as const, grammar: { syntax: 'regex' as const, definition } };
      const { client, engine } = await connect();
      const tools = [{ ...run, custom: { ...run.custom, format } }];
      await client.chat.completions.create({ model, messages, tools, tool_choice: 'required' });
      for (const text of draws(engine))
        for (const call of JSON.parse(text) as { arguments: { input: string } }[])
          expect(call.arguments.input).toMatch(/^(a|[0-9]{3})$/);
    },
  );

  test.each([
    [String.raw`\bword`, String.raw`uses \b`],
    ['[[:alpha:]_]+', 'has a class within a class'],
    ['a)|(b', 'is not a regular expression'],
  ])('a pattern that cannot be enforced is refused by its place: %j', async (definition, rule) => {
    const { client, engine } = await connect();
    const format = { type: 'grammar' as const, grammar: { syntax: 'regex' as const, definition } };
    const tools = [{ ...run, custom: { name: 'run', format } }];
    await client.chat.completions.create({ model, messages, tools, tool_choice: 'required' });
    const message = `\`tools[0].custom.format.grammar.definition\` ${rule}: write another, or omit \`format\`.`;
    expect(() => draws(engine)).toThrow(message);
  });

  test('earlier calls of custom tools are part of the conversation', async () => {
    const { client, engine } = await connect();
    await client.chat.completions.create({
      model,
      messages: [
        ...messages,
        {
          role: 'assistant',
          tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'run', input: 'a "b"' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'done' },
      ],
    });
    expect(promptOf(engine).slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'c1', name: 'run', arguments: '{"input":"a \\"b\\""}' }],
      },
      { role: 'tool', content: 'done', toolCallId: 'c1' },
    ]);
  });

  test('the text of a server that ignores the form is passed on', async () => {
    for (const json of ['"raw"', '{"code":"a"}', `{"code":"${'a'.repeat(300)}"}`]) {
      const tool = { kind: 'custom' as const, name: 'run' };
      const rest = { description: null, parameters: {}, param: '', strict: true };
      const reader = new CallReader({ functions: [{ tool, name: 'run', ...rest }], maxCalls: 1 });
      const parts = called('run', json)
        .split('')
        .flatMap((piece) => reader.push(piece));
      expect(parts.map((part) => (part.type === 'arguments' ? part.text : '')).join('')).toBe(json);
    }
  });
});

const parameters = { type: 'object', properties: { id: { const: 7 } }, required: ['id'] };
const crm = {
  type: 'namespace' as const,
  name: 'crm',
  description: 'Customers.',
  tools: [
    { type: 'function' as const, name: 'find', parameters },
    { type: 'custom' as const, name: 'note' },
  ],
};
const find = { type: 'function' as const, name: 'find', parameters: null, strict: false };

describe('responses', () => {
  test('a function of a namespace, beside one of the same name', async () => {
    const { client, engine } = await connect(called('crm.find', '{"id":7}'));
    const { output, tools } = await client.responses.create({
      model,
      input: content,
      tools: [crm, find],
      tool_choice: 'required',
    });
    expect(output).toMatchObject([
      { type: 'function_call', name: 'find', namespace: 'crm', arguments: '{"id":7}', status: 'completed' },
    ]);
    expect(tools).toMatchObject([crm, find]);
    expect(promptOf(engine)[0]?.content).toContain('"name":"crm.find"');
    const names = draws(engine).flatMap((text) =>
      (JSON.parse(text) as { name: string }[]).map(({ name }) => name),
    );
    expect(new Set(names)).toEqual(new Set(['crm.find', 'crm.note', 'find']));
  });

  test('a custom tool, streamed and by its stored id', async () => {
    const { client, engine } = await connect(...called('crm.note', '{"input":"a\\nb"}').split(''));
    const stream = client.responses.stream({
      model,
      input: content,
      tools: [crm],
      tool_choice: { type: 'custom', name: 'note' },
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toContain('response.custom_tool_call_input.delta');
    expect(types).toContain('response.custom_tool_call_input.done');
    const { id, output } = await stream.finalResponse();
    const call = { type: 'custom_tool_call', name: 'note', namespace: 'crm', input: 'a\nb' };
    expect(output).toMatchObject([{ ...call, id: expect.stringMatching(/^ctc_/) }]);
    expect((await client.responses.retrieve(id)).output).toMatchObject([call]);
    const replayed: string[] = [];
    for await (const { type } of await client.responses.retrieve(id, { stream: true })) replayed.push(type);
    expect(replayed).toContain('response.custom_tool_call_input.done');

    const callId = output[0]?.type === 'custom_tool_call' ? output[0].call_id : '';
    await client.responses.create({
      model,
      input: [
        { type: 'item_reference', id: output[0]?.id ?? '' },
        { type: 'custom_tool_call_output', call_id: callId, output: 'noted' },
      ],
    });
    const { input } = engine.jobs.at(-1) as ChatJob;
    expect('messages' in input && input.messages).toEqual([
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: callId, name: 'crm.note', arguments: '{"input":"a\\nb"}' }],
      },
      { role: 'tool', content: 'noted', toolCallId: callId },
    ]);
  });

  const call = (callId: string, name = 'find') => ({
    type: 'function_call' as const,
    call_id: callId,
    name,
    arguments: '{}',
  });

  test('a result without a call_id answers the first call without one', async () => {
    const { client, engine } = await connect();
    await client.responses.create({
      model,
      input: [
        call('c1'),
        call('c2', 'look'),
        call('c3'),
        { type: 'function_call_output', call_id: 'c1', output: 'one' },
        { type: 'function_call_output', name: 'find', output: 'three' },
        { type: 'function_call_output', output: 'two' },
      ],
    });
    expect(promptOf(engine).slice(1)).toMatchObject([
      { content: 'one', toolCallId: 'c1' },
      { content: 'three', toolCallId: 'c3' },
      { content: 'two', toolCallId: 'c2' },
    ]);
    for (const input of [
      [{ type: 'function_call_output' as const, output: 'a' }],
      [call('c1'), { type: 'function_call_output' as const, name: 'other', output: 'a' }],
    ])
      await expect(client.responses.create({ model, input })).rejects.toMatchObject({
        status: 400,
        param: `input[${input.length - 1}].call_id`,
      });
  });

  test('tools in items can be called', async () => {
    const { client, engine } = await connect();
    await client.responses.create({
      model,
      tool_choice: 'required',
      tools: [{ type: 'tool_search' }, find],
      input: [
        { role: 'user', content },
        { type: 'tool_search_call', arguments: { query: 'customers' } },
        { type: 'tool_search_output', tools: [crm] },
        // Found and added: the later one counts.
        { type: 'additional_tools', role: 'developer', tools: [{ ...find, parameters }] },
      ],
    });
    const calls = draws(engine).flatMap((text) => JSON.parse(text) as { name: string; arguments: unknown }[]);
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(['crm.find', 'crm.note', 'find']));
    for (const { arguments: json } of calls.filter(({ name }) => name === 'find'))
      expect(json).toEqual({ id: 7 });
    expect(promptOf(engine).map(({ role }) => role)).toEqual(['system', 'user']);
  });

  test.each([
    [
      [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'function' }] }],
      'input[0].tools[0].name',
    ],
    [[{ type: 'compaction', encrypted_content: 'a' }], 'input[0].type'],
    [[{ type: 'compaction_trigger' }], 'input[0].type'],
    [[{ type: 'custom_tool_call', call_id: 'a', name: 'b' }], 'input[0].input'],
    [[{ type: 'custom_tool_call_output', call_id: 'a', output: 'b' }], 'input[0].call_id'],
  ])('%j is refused by its place', async (input, param) => {
    const { client } = await connect();
    const request = client.responses.create({ model, input: input as OpenAI.Responses.ResponseInput });
    await expect(request).rejects.toMatchObject({ status: 400, param });
  });
});
