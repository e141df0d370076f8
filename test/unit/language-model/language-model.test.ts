/// <reference types="dom-chromium-ai" />
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';

import { writeJson } from '../../../src/base/exact-json.ts';
import { installLanguageModel } from '../../../src/language-model/index.ts';
import type { LanguageModelClass } from '../../../src/language-model/define-class.ts';
import { fakeV1, tokensOf } from '../../support/fake-v1.ts';

type Handle = Parameters<typeof installLanguageModel>[0];

const activation = { hasBeenActive: true };

beforeEach(() => {
  activation.hasBeenActive = true;
  vi.stubGlobal('document', { defaultView: {} });
  vi.stubGlobal('navigator', { userActivation: activation });
  vi.stubGlobal(
    'ProgressEvent',
    class extends Event {
      constructor(type: string, init: object) {
        super(type);
        Object.assign(this, init);
      }
    },
  );
});

afterEach(() => {
  Reflect.deleteProperty(globalThis, 'LanguageModel');
});

/** Installs the class over a fake `/v1`, and takes it as pages know it. */
function install(...fake: Parameters<typeof fakeV1>) {
  const v1 = fakeV1(...fake);
  installLanguageModel(v1.localtext as unknown as Handle, { model: 'm' });
  return v1;
}

const name = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing',
    (error: Error) => error.name,
  );

async function collect(stream: ReadableStream<string>): Promise<string[]> {
  const pieces: string[] = [];
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    pieces.push(value);
  }
}

const ID = { const: 2512292042121000001n };
const tool = (execute: LanguageModelTool['execute']): LanguageModelTool => ({
  name: 'weather',
  description: 'The weather of a place.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' }, id: ID } },
  execute,
});
const withTools = (execute: LanguageModelTool['execute']) =>
  ({
    tools: [tool(execute)],
    expectedOutputs: [{ type: 'tool-call' }],
  }) as unknown as LanguageModelCreateOptions;

test('has the members of the types that pages of Chrome use, less those of extensions', () => {
  type Former =
    'inputUsage' | 'inputQuota' | 'measureInputUsage' | 'onquotaoverflow' | 'topK' | 'temperature';
  type Own = LanguageModelClass['prototype'];
  type Missing = Exclude<keyof LanguageModel, keyof Own | Former>;
  expectTypeOf<Missing>().toEqualTypeOf<never>();
  // The types have no calls that the page answers, which Chrome gives as content of a reply.
  expectTypeOf<string>().toExtend<Awaited<ReturnType<Own['prompt']>>>();
  type Members = Pick<
    LanguageModel,
    'append' | 'measureContextUsage' | 'destroy' | 'contextUsage' | 'contextWindow'
  >;
  expectTypeOf<Own>().toExtend<Members>();
});

describe('installLanguageModel', () => {
  test('leaves the class of the browser, unless it is told to replace it', () => {
    vi.stubGlobal('LanguageModel', 'own');
    install();
    expect(LanguageModel).toBe('own');
    installLanguageModel(fakeV1().localtext as unknown as Handle, { model: 'm', replace: true });
    expect(LanguageModel).toBeTypeOf('function');
  });

  test('defines the classes that pages of Chrome find beside it, under their names', async () => {
    install();
    const globals = globalThis as unknown as Record<string, (new () => object) | undefined>;
    const session = await LanguageModel.create({
      monitor: (monitor) => expect(monitor).toBeInstanceOf(globals['CreateMonitor']),
    });
    expect(`${LanguageModel.name} ${String(session)}`).toBe('LanguageModel [object LanguageModel]');
    await expect(session.append('a '.repeat(2000))).rejects.toBeInstanceOf(globals['QuotaExceededError']);
  });

  test('scripts cannot construct sessions', () => {
    install();
    const Class = LanguageModel as unknown as new (parts?: object) => unknown;
    expect(() => new Class()).toThrow(TypeError);
    expect(() => new Class({ client: {} })).toThrow(TypeError);
  });
});

describe('create()', () => {
  test('downloads the model after a click, and reports growing shares from 0 to 1', async () => {
    const { state } = install();
    state.model = { state: 'idle', downloadBytes: 9 };
    expect(await LanguageModel.availability()).toBe('downloadable');
    activation.hasBeenActive = false;
    expect(await name(LanguageModel.create())).toBe('NotAllowedError');
    activation.hasBeenActive = true;
    const shares: number[] = [];
    await LanguageModel.create({
      monitor: (monitor) => monitor.addEventListener('downloadprogress', ({ loaded }) => shares.push(loaded)),
    });
    const third = (n: number): number => Math.floor((n / 3) * 65_536) / 65_536;
    expect(shares).toEqual([0, third(1), third(2), 1]);
    expect(await LanguageModel.availability()).toBe('available');
  });

  test('reports a continued download from 0', async () => {
    const { state } = install();
    state.model = { state: 'idle', downloadBytes: 1 };
    state.storedBytes = 1;
    const shares: number[] = [];
    await LanguageModel.create({
      monitor: (monitor) => monitor.addEventListener('downloadprogress', ({ loaded }) => shares.push(loaded)),
    });
    expect(shares).toEqual([0, 0.5, 1]);
  });

  test('rejects with NetworkError if the download fails, and OperationError if the load does', async () => {
    const { state } = install();
    state.failsLoad = true;
    state.model = { state: 'idle', downloadBytes: 9 };
    expect(await name(LanguageModel.create())).toBe('NetworkError');
    state.model = { state: 'idle', downloadBytes: 0 };
    expect(await name(LanguageModel.create())).toBe('OperationError');
  });

  test('says what it does not take: images, sound, an unknown model', async () => {
    install();
    const image: LanguageModelCreateOptions = { expectedInputs: [{ type: 'image' }] };
    expect(await LanguageModel.availability(image)).toBe('unavailable');
    await expect(LanguageModel.create(image)).rejects.toThrow('GET /v1/models lists');
    expect(await LanguageModel.availability({ expectedInputs: [{ type: 'audio' }] })).toBe('unavailable');
    expect(await LanguageModel.availability({ expectedOutputs: [{ type: 'image' }] })).toBe('unavailable');
    const unknown: LanguageModelCreateOptions = { expectedInputs: [{ type: 'text', languages: ['unk'] }] };
    expect(await LanguageModel.availability(unknown)).toBe('unavailable');
    installLanguageModel(fakeV1().localtext as unknown as Handle, { model: 'none', replace: true });
    expect(await LanguageModel.availability()).toBe('unavailable');
  });

  const system = { role: 'system', content: 'x' } as const;
  const user = { role: 'user', content: 'x' } as const;
  test.each<[string, unknown, string]>([
    ['a system prompt that is not the first', { initialPrompts: [user, system] }, 'TypeError'],
    ['two system prompts', { initialPrompts: [system, system] }, 'TypeError'],
    ['an unknown role', { initialPrompts: [{ role: 'tool', content: 'x' }] }, 'TypeError'],
    [
      'a prefix that is not the last',
      { initialPrompts: [{ role: 'assistant', content: 'x', prefix: true }, user] },
      'SyntaxError',
    ],
    ['a wrong language', { expectedInputs: [{ type: 'text', languages: ['en-abc-invalid'] }] }, 'RangeError'],
    ['an unknown type', { expectedInputs: [{ type: 'video' }] }, 'TypeError'],
    ['an unknown mode', { samplingMode: 'wild' }, 'TypeError'],
    ['tools without tool-call in expectedOutputs', { tools: [tool(async () => '')] }, 'TypeError'],
    [
      'a tool whose execute is no function',
      { expectedOutputs: [{ type: 'tool-call' }], tools: [{ ...tool(async () => ''), execute: {} }] },
      'TypeError',
    ],
    ['a monitor that is no function', { monitor: {} }, 'TypeError'],
    ['options that are no object', 'x', 'TypeError'],
    ['a signal that is none', { signal: {} }, 'TypeError'],
    [
      'prompts that do not fit',
      { initialPrompts: [{ role: 'user', content: 'x '.repeat(2000) }] },
      'QuotaExceededError',
    ],
  ])('refuses %s', async (_, options, error) => {
    install();
    expect(await name(LanguageModel.create(options as LanguageModelCreateOptions))).toBe(error);
  });

  test('an abort rejects with its reason, and destroys the session afterwards', async () => {
    install();
    const reason = new Error('enough');
    const abort = new AbortController();
    const creating = LanguageModel.create({ signal: abort.signal });
    abort.abort(reason);
    await expect(creating).rejects.toBe(reason);
    const later = new AbortController();
    const session = await LanguageModel.create({ signal: later.signal });
    const copy = await session.clone();
    later.abort(reason);
    await expect(session.prompt('x')).rejects.toBe(reason);
    expect(await copy.prompt('x')).toBe('one two');
  });
});

describe('a prompt', () => {
  test('has the messages before it, and the mode as a temperature', async () => {
    const { asked } = install();
    const session = await LanguageModel.create({
      samplingMode: 'most-predictable',
      initialPrompts: [{ role: 'system', content: 'Be brief.' }],
    });
    expect(session.contextUsage).toBe(3);
    expect(await session.prompt('Count.')).toBe('one two');
    const all = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Count.' },
    ];
    expect(asked[0]).toMatchObject({ model: 'm', temperature: 0, messages: all });
    // The reply has two pieces.
    expect(session.contextUsage).toBe(tokensOf(all) + 2);
    const copy = await session.clone();
    expect(await collect(copy.promptStreaming('On.'))).toEqual(['one ', 'two']);
    expect(asked[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    await session.prompt('Other.');
    expect(asked[2]?.messages.at(-1)).toEqual({ role: 'user', content: 'Other.' });
    expect(asked[2]?.messages).toHaveLength(4);
  });

  test('is measured without the tokens that each conversation has', async () => {
    install();
    const session = await LanguageModel.create();
    expect(await session.measureContextUsage('a b c')).toBe(4);
    await session.append('a b c');
    expect(session.contextUsage).toBe(4);
    expect(await session.measureContextUsage('a b c')).toBe(4 - tokensOf([{ role: 'user', content: '' }]));
    const system: LanguageModelPrompt = [{ role: 'system', content: 'a b c' }] as never;
    expect(await session.measureContextUsage(system)).toBe(4);
  });

  test('takes what Web IDL makes a string of, and parts of text as one', async () => {
    const { asked } = install();
    const session = await LanguageModel.create();
    for (const input of [null, undefined, {}, []]) await session.append(input as unknown as string);
    await session.prompt([
      {
        role: 'user',
        content: [
          { type: 'text', value: 'a' },
          { type: 'text', value: 'b' },
        ],
      },
    ]);
    expect(asked[0]?.messages.map(({ content }) => content)).toEqual([
      'null',
      'undefined',
      '[object Object]',
      '',
      'ab',
    ]);
  });

  test.each<[string, unknown, unknown, string]>([
    ['a system prompt after other messages', [{ role: 'system', content: 'x' }], {}, 'TypeError'],
    ['a photo', [{ role: 'user', content: [{ type: 'image', value: new Blob() }] }], {}, 'NotSupportedError'],
    ['bytes', [{ role: 'user', content: [{ type: 'text', value: new Uint8Array() }] }], {}, 'TypeError'],
    [
      'an image of the assistant',
      [{ role: 'assistant', content: [{ type: 'image', value: new Blob() }] }],
      {},
      'NotSupportedError',
    ],
    ['a constraint that is no object', 'x', { responseConstraint: 'x' }, 'TypeError'],
    ['a constraint that is no JSON', 'x', { responseConstraint: () => '' }, 'NotSupportedError'],
    ['no flag u', 'x', { responseConstraint: new RegExp(String.raw`\p{L}`) }, 'NotSupportedError'],
    ['the omission of a constraint that is absent', 'x', { omitResponseConstraintInput: true }, 'TypeError'],
    ['more than the context window has', 'x '.repeat(1001), {}, 'QuotaExceededError'],
    ['more than /v1 counts', 'x '.repeat(30_000), {}, 'QuotaExceededError'],
  ])('refuses %s', async (_, input, options, error) => {
    install();
    const session = await LanguageModel.create({ initialPrompts: [{ role: 'user', content: 'x' }] });
    expect(await name(session.prompt(input as string, options as object))).toBe(error);
    expect(session.contextUsage).toBe(2);
  });

  test('of a session with a constraint has a schema, and a prefix of the reply', async () => {
    const { asked, replies } = install();
    const session = await LanguageModel.create();
    replies.push(
      { text: ['{"a"', ':1}'] },
      { text: ['"Gree', 'tings\\u0020and \\"all\\', 'n"'] },
      { text: ['b'] },
    );
    const schema = { type: 'object' };
    expect(await session.prompt('x', { responseConstraint: schema })).toBe('{"a":1}');
    expect(asked[0]).toMatchObject({
      messages: [{ content: expect.stringContaining('{"type":"object"}') as string }],
      guided_json: schema,
    });
    const prefix: LanguageModelPrompt = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'Greetings', prefix: true },
    ];
    const options = {
      responseConstraint: /^G/ as object as Record<string, unknown>,
      omitResponseConstraintInput: true,
    };
    expect(await collect(session.promptStreaming(prefix, options))).toEqual([' and "all', '\n']);
    expect(asked[1]).toMatchObject({
      messages: [{}, {}, { role: 'user', content: 'x' }],
      guided_json: { type: 'string', allOf: [{ pattern: '^G' }, { pattern: '^Greetings' }] },
    });
    await session.prompt(prefix);
    expect(asked[2]).toMatchObject({ continue_final_message: true });
    expect(asked[2]?.messages[3]).toEqual({ role: 'assistant', content: 'Greetings and "all\n' });
    const fresh = await LanguageModel.create();
    await fresh.prompt(prefix.slice(1), options);
    expect(asked[3]?.messages).toEqual([{ role: 'user', content: '' }]);
    replies.push({ finish: 'length' });
    await expect(session.prompt('x', { responseConstraint: schema })).rejects.toMatchObject({
      name: 'SyntaxError',
      message: expect.stringContaining('`maxTokens`') as string,
    });
    replies.push({ text: ['true}'] });
    const started: LanguageModelPrompt = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '{"a":', prefix: true },
    ];
    expect(await session.prompt(started, { responseConstraint: schema })).toBe('true}');
    expect(asked.at(-1)).toMatchObject({ continue_final_message: true, guided_json: schema });
    await session.prompt('y');
    expect(asked.at(-1)?.messages.at(-2)).toEqual({ role: 'assistant', content: '{"a":true}' });
  });

  test.each([
    [/a|b/i, '^(?:a|b)$'],
    [/[^$]\$/, String.raw`^(?:[^$]\$)$`],
    [/[\]$]/, String.raw`^(?:[\]$])$`],
    [/^a|b$/, '^a|b$'],
  ])('with the expression %s has the pattern %s', async (expression, pattern) => {
    const { asked, replies } = install();
    const session = await LanguageModel.create();
    replies.push({ text: ['"a"'] });
    const responseConstraint = expression as object as Record<string, unknown>;
    expect(await session.prompt('x', { responseConstraint })).toBe('a');
    expect(asked[0]).toMatchObject({ guided_json: { pattern } });
  });

  test('streams no half of a surrogate pair', async () => {
    const { replies } = install();
    const session = await LanguageModel.create();
    replies.push({ text: ['"a\\ud83d', '\\ude', '00b\\\\ud83d\\ud83', 'd"'] });
    const stream = session.promptStreaming('x', {
      responseConstraint: /a/ as object as Record<string, unknown>,
    });
    expect(await collect(stream)).toEqual(['a', '\u{1F600}b\\ud83d', '\ud83d']);
  });

  test('calls tools before a reply with a prefix', async () => {
    const { asked, replies } = install();
    const session = await LanguageModel.create(withTools(async () => 'rain'));
    replies.push({ toolCalls: [{ name: 'weather', arguments: '{}' }] });
    const prefix: LanguageModelPrompt = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'It is ', prefix: true },
    ];
    expect(await session.prompt(prefix)).toBe('one two');
    await session.prompt('x');
    const roles = asked.map(({ messages }) => messages.map(({ role }) => role).join(' '));
    expect(roles.slice(1)).toEqual(['user assistant tool assistant', 'user assistant tool assistant user']);
    expect(asked[1]?.['continue_final_message']).toBe(true);
    expect(asked[2]?.messages[3]?.content).toBe('It is one two');
  });

  test('that is aborted during a tool call lets the next one begin', async () => {
    const { asked, replies } = install();
    const abort = new AbortController();
    const session = await LanguageModel.create(
      withTools(() => {
        abort.abort();
        return new Promise(() => {});
      }),
    );
    replies.push({ toolCalls: [{ name: 'weather', arguments: '{}' }] });
    expect(await name(session.prompt('a', { signal: abort.signal }))).toBe('AbortError');
    expect(await session.prompt('b')).toBe('one two');
    expect(asked[1]?.messages).toEqual([{ role: 'user', content: 'b' }]);
  });

  test('calls the tools, all at once, until the model answers', async () => {
    const { asked, replies } = install();
    const execute = vi.fn(async ({ city }: { city: string }) => `rain in ${city}`);
    const session = await LanguageModel.create(withTools(execute));
    const call = (city: string, more = '') => ({ name: 'weather', arguments: `{"city":"${city}"${more}}` });
    replies.push({
      toolCalls: [call('Oslo'), call('Rome', ',"ids":[2512292042121000001,1234567890123456800,1.0,-0]')],
    });
    expect(await session.prompt('Weather?', { responseConstraint: ID })).toBe('one two');
    expect(writeJson(asked[0]?.['tools'])).toContain('"id":{"const":2512292042121000001}');
    expect(writeJson(asked[0]?.['guided_json'])).toBe('{"const":2512292042121000001}');
    const ids = [2512292042121000001n, 1234567890123456800n, 1, -0];
    expect(execute.mock.calls).toEqual([[{ city: 'Oslo' }], [{ city: 'Rome', ids }]]);
    expect(asked[0]?.['tools']).toMatchObject([{ function: { name: 'weather' } }]);
    expect(asked[1]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_0' }, { id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_0', content: 'rain in Oslo' },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain in Rome' },
    ]);
    replies.push({ toolCalls: [call('Oslo', '}, {')] });
    await expect(session.prompt('x')).rejects.toThrow();
  });

  test('of a tool without execute hands the call to the page, which prompts with the result', async () => {
    const { asked, replies } = install();
    const { execute: _, ...declared } = tool(async () => '');
    const session = await LanguageModel.create({
      tools: [declared],
      expectedInputs: [{ type: 'tool-response' }],
      expectedOutputs: [{ type: 'tool-call' }],
    } as unknown as LanguageModelCreateOptions);
    replies.push({ toolCalls: [{ name: 'weather', arguments: '{"city":"Oslo"}' }] });
    const [call] = (await session.prompt('Weather?')) as unknown as [{ value: { callId: string } }];
    expect(call).toMatchObject({
      type: 'tool-call',
      value: { callID: 'call_0', name: 'weather', arguments: { city: 'Oslo' } },
    });

    const { LanguageModelToolSuccess: Success, LanguageModelToolError: Failure } = globalThis as unknown as {
      [name in 'LanguageModelToolSuccess' | 'LanguageModelToolError']: new (init: object) => object;
    };
    const respond = (value: unknown) =>
      session.prompt([
        { role: 'user', content: [{ type: 'tool-response', value }] },
      ] as unknown as LanguageModelPrompt);
    const init = { callID: 'call_0', name: 'weather' };
    expect(() => new Success(init)).toThrow(TypeError);
    for (const value of [() => '', new Blob()])
      expect(await name(respond(new Success({ ...init, result: [{ type: 'object', value }] })))).toBe(
        'DataError',
      );
    const image = { type: 'image', value: new Blob() };
    expect(await name(respond(new Success({ ...init, result: [image] })))).toBe('NotSupportedError');
    expect(await name(respond(init))).toBe('TypeError');

    const result = [
      { type: 'text', value: 'rain' },
      { type: 'object', value: { degrees: 4n } },
    ];
    const content = [{ type: 'tool-response', value: new Success({ ...init, result }) }];
    const response = [{ role: 'user', content }] as unknown as LanguageModelPrompt;
    expect(await session.measureContextUsage(response)).toBeGreaterThan(0);
    expect(await respond(new Success({ ...init, result }))).toBe('one two');
    expect(asked[1]?.messages).toMatchObject([
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'call_0' }] },
      { role: 'tool', tool_call_id: 'call_0', content: 'rain\n{"degrees":4}' },
    ]);

    replies.push({ toolCalls: [{ name: 'weather', arguments: '{}' }] });
    expect(await collect(session.promptStreaming('And now?'))).toMatchObject([{ type: 'tool-call' }]);
    const { callId } = call.value;
    await respond(new Failure({ callId, name: 'weather', errorMessage: 'no signal' }));
    expect(asked.at(-1)?.messages.at(-1)).toMatchObject({ tool_call_id: 'call_0' });
    expect(asked.at(-1)?.messages.at(-1)?.content).toBe('Error: no signal');
  });

  test('whose tool call is cut off fails', async () => {
    const { replies } = install();
    const session = await LanguageModel.create(withTools(async () => ''));
    replies.push({ text: [], finish: 'length' });
    await expect(session.prompt('Weather?')).rejects.toThrow('maxTokens');
  });

  test('takes earlier calls and their results as first messages', async () => {
    const { asked } = install();
    const { LanguageModelToolCall: Call, LanguageModelToolSuccess: Success } = globalThis as unknown as {
      [name in 'LanguageModelToolCall' | 'LanguageModelToolSuccess']: new (init: object) => object;
    };
    const init = { callID: '1', name: 'weather', arguments: { id: 2512292042121000001n } };
    const result = [{ type: 'text', value: 'rain' }];
    const session = await LanguageModel.create({
      ...withTools(async () => ''),
      expectedInputs: [{ type: 'tool-call' }, { type: 'tool-response' }],
      initialPrompts: [
        { role: 'assistant', content: [{ type: 'tool-call', value: new Call(init) }] },
        { role: 'user', content: [{ type: 'tool-response', value: new Success({ ...init, result }) }] },
      ],
    } as unknown as LanguageModelCreateOptions);
    await session.prompt('x');
    expect(asked[0]?.messages).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: '1', function: { arguments: '{"id":2512292042121000001}' } }] },
      { role: 'tool', tool_call_id: '1', content: 'rain' },
      { role: 'user', content: 'x' },
    ]);
  });

  test('that keeps calling tools must answer in the end', async () => {
    const { asked, replies } = install();
    const session = await LanguageModel.create(withTools(async () => ''));
    for (let round = 0; round < 8; round++)
      replies.push({ toolCalls: [{ name: 'weather', arguments: '{}' }] });
    expect(await session.prompt('Weather?')).toBe('one two');
    expect(asked.map((request) => request['tool_choice'])).toEqual([
      ...Array<undefined>(8).fill(undefined),
      'none',
    ]);
  });

  test('can be iterated in browsers whose streams cannot, and a break cancels it', async () => {
    const { replies, state } = install();
    const { prototype } = ReadableStream;
    const iterator = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncIterator) ?? {};
    Reflect.deleteProperty(prototype, Symbol.asyncIterator);
    try {
      const session = await LanguageModel.create();
      const pieces: string[] = [];
      for await (const piece of session.promptStreaming('x')) pieces.push(piece);
      expect(pieces).toEqual(['one ', 'two']);
      replies.push({ hangs: true });
      for await (const _ of session.promptStreaming('x')) break;
      expect(state.aborted).toBe(1);
    } finally {
      Object.defineProperty(prototype, Symbol.asyncIterator, iterator);
    }
  });

  test('that overflows drops the oldest exchanges, not the first prompts', async () => {
    const { asked } = install(40);
    const session = await LanguageModel.create({ initialPrompts: [{ role: 'user', content: 'first' }] });
    const overflow = vi.fn();
    session.oncontextoverflow = overflow;
    for (const letter of 'abc') await session.append(`${letter} `.repeat(9));
    expect(overflow).not.toHaveBeenCalled();
    expect(await session.prompt('d '.repeat(15))).toBe('one two');
    expect(overflow).toHaveBeenCalledOnce();
    expect(asked[0]?.messages.map(({ content }) => String(content)[0])).toEqual(['f', 'b', 'c', 'd']);
    expect(session.contextUsage).toBe(40);
    await expect(session.prompt('e '.repeat(60))).rejects.toMatchObject({
      name: 'QuotaExceededError',
      quota: 40,
    });
    expect(asked).toHaveLength(1);
  });

  test('that overflows and then fails leaves all messages', async () => {
    const { asked, replies } = install(40);
    const session = await LanguageModel.create();
    const overflow = vi.fn();
    session.oncontextoverflow = overflow;
    for (const letter of 'abc') await session.append(`${letter} `.repeat(9));
    const usage = session.contextUsage;
    replies.push({ error: { status: 500 } });
    expect(await name(session.prompt('d '.repeat(15)))).toBe('UnknownError');
    expect(asked[0]?.messages).toHaveLength(3);
    expect([overflow.mock.calls.length, session.contextUsage]).toEqual([0, usage]);
    await session.prompt('e');
    expect(asked[1]?.messages).toHaveLength(4);
  });

  test.each([
    ['`messages[0].content[1].image_url.url` must be', '`input` must be'],
    [
      '`guided_json.properties.a` and `max_completion_tokens`',
      '`responseConstraint.properties.a` and `maxTokens`',
    ],
    [
      '`tools[1].function.parameters.type` or `tools[1].function.name`',
      '`tools[1].inputSchema.type` or `tools[1].name`',
    ],
  ])('that /v1 refuses for %s is refused for %s', async (message, expected) => {
    const { replies } = install();
    const session = await LanguageModel.create();
    replies.push({ error: { status: 400, message } });
    await expect(session.prompt('lost')).rejects.toThrow(expected);
  });

  test.each([
    [{ error: { status: 401 } }, 'NotAllowedError'],
    [{ error: { status: 400, code: 'invalid_json_schema' } }, 'NotSupportedError'],
    [{ error: { status: 500, code: 'engine_failed' } }, 'UnknownError'],
    [{ isCut: true }, 'UnknownError'],
  ])('whose answer is %o fails, and leaves no trace', async (reply, expected) => {
    const { asked, replies } = install();
    const session = await LanguageModel.create();
    replies.push(reply);
    expect(await name(session.prompt('lost'))).toBe(expected);
    await session.prompt('x');
    expect(asked[1]?.messages).toEqual([{ role: 'user', content: 'x' }]);
  });

  test('that is aborted, cancelled or destroyed stops the engine and leaves no trace', async () => {
    const { asked, replies, state } = install();
    const session = await LanguageModel.create();
    replies.push({ hangs: true }, { hangs: true });
    const abort = new AbortController();
    const prompting = session.prompt('a', { signal: abort.signal });
    const queued = session.prompt('b', { signal: abort.signal });
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    abort.abort();
    expect(await name(prompting)).toBe('AbortError');
    expect(await name(queued)).toBe('AbortError');
    expect(() => session.promptStreaming('a', { signal: abort.signal })).toThrow(DOMException);

    const reader = session.promptStreaming('c').getReader();
    expect((await reader.read()).value).toBe('one ');
    await reader.cancel();
    await session.prompt('d');
    expect(asked.at(-1)?.messages).toEqual([{ role: 'user', content: 'd' }]);

    replies.push({ hangs: true });
    const last = session.prompt('e');
    await vi.waitFor(() => expect(asked).toHaveLength(4));
    session.destroy();
    expect(await name(last)).toBe('AbortError');
    expect(state.aborted).toBe(3);
    for (const method of ['prompt', 'append', 'measureContextUsage'] as const)
      expect(await name(session[method]('x'))).toBe('AbortError');
    expect(await name(session.clone())).toBe('AbortError');
    expect(await name(session.clone('x' as never))).toBe('TypeError');
    expect(session.contextWindow).toBe(1000);
  });
});

test('a document that is not active, or not allowed to, gets nothing', async () => {
  install();
  const policy = { features: () => ['language-model'], allowsFeature: () => false };
  vi.stubGlobal('document', { defaultView: {}, featurePolicy: policy });
  expect(await LanguageModel.availability()).toBe('unavailable');
  expect(await name(LanguageModel.create())).toBe('NotAllowedError');
  vi.stubGlobal('document', { defaultView: null });
  expect(await name(LanguageModel.availability())).toBe('InvalidStateError');
  expect(await name(LanguageModel.create())).toBe('InvalidStateError');
});
