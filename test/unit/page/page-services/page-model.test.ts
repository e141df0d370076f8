import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { withBuiltIn } from '../../../../src/catalog/with-built-in.ts';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import { pageServices } from '../../../../src/page/page-services/page-services.ts';
import { downloadBuiltIn } from '../../../../src/page/download-built-in.ts';
import type { ChatEvent, ChatJob, ChatMessage } from '../../../../src/jobs/chat.ts';
import { builtInFault } from '../../../../src/engines/built-in/built-in-fault.ts';
import { loadBuiltIn } from '../../../../src/engines/built-in/built-in-engine.ts';
import { type FakeLanguageModel, installLanguageModel } from '../../../support/fake-language-model.ts';
import { installLanguageModel as installOwn } from '../../../../src/language-model/index.ts';
import { never } from '../../../support/never.ts';

const catalog = withBuiltIn(defaultCatalog, 'amber-phoenix-4');
const variant = catalog.models.flatMap(({ variants }) => variants).find(({ name }) => name === 'built-in');

const brands = [
  { brand: 'Chromium', version: '142' },
  { brand: 'Not_A Brand', version: '99' },
  { brand: 'Google Chrome', version: '142' },
];

beforeEach(() => {
  vi.stubGlobal('navigator', { userAgentData: { brands }, userActivation: { hasBeenActive: true } });
});

afterEach(() => {
  Reflect.deleteProperty(globalThis, 'LanguageModel');
});

function builtIn() {
  if (variant?.engine !== 'built-in') throw new Error('the catalog has no such variant');
  return variant;
}

async function load(options: FakeLanguageModel = {}) {
  const calls = installLanguageModel(options);
  const gone = new AbortController();
  const context = { signal: never, ...pageServices(gone.signal), onProgress: () => undefined };
  const engine = await loadBuiltIn(builtIn(), {
    ...context,
    file: () => Promise.reject(new Error('it has no files')),
    wasm: (name) => name,
  });
  return { calls, engine, gone };
}

const job = (more: Partial<ChatJob> = {}): ChatJob => ({
  kind: 'chat',
  model: 'm',
  input: { messages: [{ role: 'user', content: 'hello there' }] },
  sampling: { temperature: 1, topP: 1 },
  ...more,
});

async function run({ engine }: Awaited<ReturnType<typeof load>>, asked: ChatJob, signal = never) {
  const events: ChatEvent[] = [];
  for await (const event of engine.run(asked, signal)) events.push(event);
  const text = events.flatMap((event) => (event.type === 'delta' ? event.delta.text : [])).join('');
  const done = events.find((event) => event.type === 'done');
  return { events, text, done };
}

async function refusal(loaded: Awaited<ReturnType<typeof load>>, asked: ChatJob, signal = never) {
  const error = await run(loaded, asked, signal).catch((thrown: unknown) => thrown);
  if (!(error instanceof ServiceError)) throw error;
  return error.wire;
}

describe('a reply', () => {
  test.each([false, true])(
    'comes in parts, counted by the browser (former names: %s)',
    async (formerNames) => {
      const loaded = await load({ formerNames });
      const { events, text, done } = await run(loaded, job());
      expect(events[0]).toMatchObject({ type: 'accepted', accepted: { promptTokens: 3 } });
      expect(events.filter(({ type }) => type === 'delta')).toHaveLength(5);
      expect(text).toBe('one two three four five');
      expect(done).toMatchObject({
        finishReason: 'stop',
        usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 5 },
      });
      expect(loaded.engine.traits.contextLength).toBe(1000);
      expect(loaded.calls.destroyed).toBe(1);
    },
  );

  test('has the system prompt and the history before its prompt', async () => {
    const loaded = await load();
    const call = { id: 'c', name: 'weather', arguments: '{"city":"Oslo"}' };
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'system', content: 'In English.' },
      { role: 'tool', content: 'rain', toolCallId: 'c' },
    ];
    await run(loaded, job({ input: { messages } }));
    expect(loaded.calls.created[0]?.initialPrompts).toEqual([
      { role: 'system', content: 'Be brief.\n\nIn English.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: '<tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>',
      },
    ]);
    expect(loaded.calls.prompts[0]?.input).toEqual([{ role: 'user', content: 'Result of the call:\nrain' }]);
  });

  test('of max_tokens ends there, and its session is destroyed', async () => {
    const loaded = await load();
    const { text, done } = await run(loaded, job({ maxTokens: 2 }));
    expect(text).toBe('one two ');
    expect(done).toMatchObject({ finishReason: 'length', usage: { completionTokens: 2 } });
    expect(loaded.calls.destroyed).toBe(1);
  });

  test("continues from another engine's text", async () => {
    const loaded = await load();
    const { text } = await run(loaded, job({ resume: { text: 'one two ', tokens: 2 } }));
    expect(text).toBe('three four five');
  });

  test('follows a schema, also with the seed that the service adds', async () => {
    const loaded = await load();
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const sampling = { temperature: 1, topP: 1, seed: 7 };
    const constraint = { kind: 'json_schema' as const, schema: JSON.stringify(schema) };
    const { text } = await run(loaded, job({ constraint, sampling, seeded: true }));
    expect(JSON.parse(text)).toEqual({ city: 'Oslo' });
    expect(loaded.calls.prompts[0]?.responseConstraint).toEqual(schema);
  });

  test.each<[temperature: number, topP: number, mode: string | null]>([
    [0, 1, 'most-predictable'],
    [1, 0, 'most-predictable'],
    [0.2, 1, 'predictable'],
    [1, 0.5, 'predictable'],
    [0.7, 0.9, null],
    [1, 1, null],
    [1.2, 0.9, 'creative'],
    [2, 1, 'most-creative'],
  ])('of the temperature %d and top_p %d has the mode %s', async (temperature, topP, samplingMode) => {
    const loaded = await load();
    await run(loaded, job({ sampling: { temperature, topP } }));
    expect(loaded.calls.created).toEqual([samplingMode === null ? {} : { samplingMode }]);
  });

  test('that is only counted is not generated', async () => {
    const loaded = await load();
    const { events } = await run(loaded, job({ countOnly: true }));
    expect(events).toMatchObject([{ type: 'accepted', accepted: { promptTokens: 3 } }]);
    expect(loaded.calls.prompts).toEqual([]);
    expect(loaded.calls.destroyed).toBe(1);
  });

  test('that is aborted destroys its session, and the next is whole', async () => {
    const loaded = await load({ chunkMs: 5 });
    const abort = new AbortController();
    const reason = new Error('enough');
    const reply = (async () => {
      for await (const event of loaded.engine.run(job(), abort.signal))
        if (event.type === 'delta') abort.abort(reason);
    })();
    await expect(reply).rejects.toBe(reason);
    await expect.poll(() => loaded.calls.destroyed).toBe(1);
    expect((await run(loaded, job())).text).toBe('one two three four five');
  });
});

describe('what the API cannot do is passed on, by the name of its field', () => {
  const base = { temperature: 1, topP: 1 };
  test.each([
    ['temperature', { ...base, temperature: 0.2 }],
    ['top_p', { ...base, topP: 0.5 }],
  ])('%s, in a browser before the modes', async (param, sampling) => {
    const loaded = await load({ withoutModes: true });
    expect(await refusal(loaded, job({ sampling }))).toMatchObject({ status: 400, param, passOn: true });
    expect(await run(loaded, job())).toMatchObject({ text: 'one two three four five' });
  });

  test.each<[string, Partial<ChatJob>]>([
    ['logprobs', { topLogprobs: 0 }],
    [
      'messages[0].content[1]',
      {
        input: {
          messages: [
            {
              role: 'user',
              content: 'a',
              images: [{ at: 1, url: 'data:', param: 'messages[0].content[1]' }],
            },
          ],
        },
      },
    ],
    ['prompt', { input: { prompt: 'Once' } }],
    ['seed', { sampling: { ...base, seed: 1 } }],
    ['min_p', { sampling: { ...base, minP: 0.1 } }],
    ['presence_penalty', { sampling: { ...base, presencePenalty: 1 } }],
    ['frequency_penalty', { sampling: { ...base, frequencyPenalty: 1 } }],
    ['logit_bias', { sampling: { ...base, logitBias: { 5: 1 } } }],
    ['response_format', { constraint: { kind: 'grammar', gbnf: 'root ::= "a"' } }],
    ['response_format', { constraint: { kind: 'json_schema', schema: '{"patternProperties":{}}' } }],
  ])('%s', async (param, more) => {
    const loaded = await load();
    expect(await refusal(loaded, job(more))).toMatchObject({
      status: 400,
      param,
      code: 'unsupported_value',
      passOn: true,
    });
  });
});

describe('a failure', () => {
  test('of a prompt that does not fit says by how much, in the prompt and in the history', async () => {
    const long = { role: 'user' as const, content: 'word '.repeat(20) };
    const loaded = await load({ contextWindow: 15 });
    const code = 'context_length_exceeded';
    const last = await refusal(loaded, job({ input: { messages: [long] } }));
    expect(last).toMatchObject({ status: 400, code, param: 'messages' });
    expect(last.message).toContain('15 tokens, and the prompt takes 21');
    expect(last).not.toHaveProperty('passOn');
    const history: ChatMessage[] = [
      long,
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'a' },
    ];
    expect(await refusal(loaded, job({ input: { messages: history } }))).toMatchObject({ code });
    const few: ChatMessage[] = [
      { role: 'system', content: 'word '.repeat(10) },
      { role: 'user', content: 'a b c d' },
    ];
    // Each part alone fits.
    expect(await refusal(loaded, job({ input: { messages: few } }))).toMatchObject({ code });
  });

  test.each(['OperationError', 'NotAllowedError', 'InvalidStateError'])(
    'of a session to begin (%s) is passed on',
    async (createFails) => {
      vi.spyOn(console, 'error').mockReturnValue();
      const loaded = await load({ createFails });
      expect(await refusal(loaded, job())).toMatchObject({
        status: 500,
        code: 'engine_crashed',
        passOn: true,
      });
    },
  );

  test('of a reply that the browser withholds is named', async () => {
    const loaded = await load({ promptFails: 'NotReadableError' });
    expect(await refusal(loaded, job())).toMatchObject({ code: 'engine_failed', passOn: true });
  });

  test('of a session that is destroyed under way ends the engine, and is not passed on', async () => {
    vi.spyOn(console, 'error').mockReturnValue();
    const loaded = await load({ destroyAfter: 2 });
    const wire = await refusal(loaded, job());
    expect(wire).toMatchObject({ status: 500, code: 'engine_crashed' });
    expect(wire).not.toHaveProperty('passOn');
    expect((await run(loaded, job())).text).toBe('one two three four five');
  });

  test.each(['create', 'measure', 'prompt'] as const)('%s that never ends is given up', async (hangs) => {
    vi.spyOn(console, 'error').mockReturnValue();
    const loaded = await load({ hangs });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failed = refusal(loaded, job());
    for (let round = 0; round < 5; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await failed).toMatchObject({ code: 'engine_crashed', passOn: true });
  });

  test('of the tab: its sessions end', async () => {
    vi.spyOn(console, 'error').mockReturnValue();
    const loaded = await load({ chunkMs: 5 });
    const abort = new AbortController();
    const reply = (async () => {
      for await (const event of loaded.engine.run(job(), abort.signal))
        if (event.type === 'delta') loaded.gone.abort();
    })();
    await expect(reply).rejects.toMatchObject({ wire: { code: 'engine_crashed' } });
    expect(loaded.calls.destroyed).toBe(1);
  });
});

describe('why it does not answer', () => {
  const faultIn = (options: FakeLanguageModel | null) => {
    if (options) installLanguageModel(options);
    return builtInFault(pageServices(never).pageModel, builtIn());
  };
  test('is known for each state', async () => {
    expect(await faultIn({ state: 'unavailable' })).toContain('does not offer on this device');
    expect(await faultIn({ state: 'downloadable' })).toContain('nobody has asked');
    expect(await faultIn({ state: 'downloading' })).toContain('is downloading');
    expect(await faultIn({})).toBeUndefined();
    Reflect.deleteProperty(globalThis, 'LanguageModel');
    expect(await faultIn(null)).toContain('this browser does not offer');
    expect(await builtInFault(undefined, builtIn())).toContain('this browser does not offer');
  });

  test('is known where the browser refuses to tell, too', async () => {
    vi.spyOn(console, 'warn').mockReturnValue();
    vi.stubGlobal('LanguageModel', {
      availability: () => Promise.reject(new DOMException('', 'NotAllowedError')),
    });
    expect(await faultIn(null)).toContain('does not offer');
  });
});

describe("the browser's own download", () => {
  test('starts when it is asked for, tells its progress, and leaves no session', async () => {
    const calls = installLanguageModel({ state: 'downloadable' });
    const shares: number[] = [];
    await downloadBuiltIn(catalog, 'amber-phoenix-4', never, ({ loadedBytes }) => shares.push(loadedBytes));
    expect(shares).toEqual([0, 0.5, 1]);
    expect(calls).toMatchObject({ created: [{}], destroyed: 1 });
    expect(await builtInFault(pageServices(never).pageModel, builtIn())).toBeUndefined();
  });

  test('is left alone for other models, and where there is nothing to download', async () => {
    for (const [state, id] of [
      ['downloadable', 'indigo-owl-4'],
      ['available', 'amber-phoenix-4'],
      ['unavailable', 'amber-phoenix-4'],
    ] as const) {
      const calls = installLanguageModel({ state });
      await downloadBuiltIn(catalog, id, never);
      expect(calls.created).toEqual([]);
    }
  });

  test('that the browser refuses says what to do', async () => {
    installLanguageModel({ state: 'downloadable' });
    vi.stubGlobal('navigator', { userActivation: { hasBeenActive: false } });
    await expect(downloadBuiltIn(catalog, 'amber-phoenix-4', never)).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('from a click') as string,
    });
  });
});

test('the class of installLanguageModel() is not the browser’s model: it would ask /v1 again', async () => {
  installOwn(new Promise(() => {}), { model: 'amber-phoenix-4' });
  const { pageModel } = pageServices(never);
  expect(await pageModel.availability([])).toMatchObject({ state: 'absent' });
  await downloadBuiltIn(catalog, 'amber-phoenix-4', never);
});
