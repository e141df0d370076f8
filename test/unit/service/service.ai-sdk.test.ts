import * as openai3 from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import * as ai6 from 'ai';
import type { ModelMessage } from 'ai';
import * as ai7 from 'ai-7';
import * as openai4 from 'ai-sdk-openai-4';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { ChatJob } from '../../../src/jobs/chat.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { fakeService } from '../../support/fake-service.ts';

/** The AI SDK's default provider: it uses /v1/responses, and refers to items of earlier responses by id. */

const light = z.object({ mode: z.enum(['on', 'off']) });

/** Calls the tool until its result is there, then answers. */
const callFirst = (job: ChatJob) => {
  if (job.constraint) return { thoughts: ['Hm.'] };
  const answers = 'messages' in job.input && job.input.messages.at(-1)?.role === 'tool';
  return answers ? { deltas: ['It ', 'is on.'] } : { thoughts: ['Hm.'], deltas: ['<tool_call>'] };
};

const six = { ...ai6, ...openai3 };
/** Typed as one: what the tests use is the same in both. */
const majors = [
  ['6', six],
  ['7', { ...ai7, ...openai4 } as unknown as typeof six],
] as const;

async function connect({ createOpenAI }: typeof six, engine: FakeEngine) {
  const { service, key } = await fakeService({ engine });
  const inputs: { type?: string }[][] = [];
  const provider = createOpenAI({
    apiKey: key,
    baseURL: 'https://site.example/v1',
    fetch: async (url, init) => {
      const request = new Request(url, init);
      inputs.push(((await request.clone().json()) as { input: [] }).input);
      return service(request);
    },
  });
  return { model: provider('amber-phoenix-4'), inputs };
}

type Model = Awaited<ReturnType<typeof connect>>['model'];
type Asked = Omit<Parameters<typeof ai6.generateText>[0], 'model' | 'prompt' | 'messages'> & {
  messages: ModelMessage[];
};

interface Answered {
  response: PromiseLike<{ messages: ModelMessage[] }> | { messages: ModelMessage[] };
  /** Messages of all steps, since version 7. */
  responseMessages?: PromiseLike<ModelMessage[]> | ModelMessage[];
}

const messagesOf = async ({ response, responseMessages }: Answered): Promise<ModelMessage[]> =>
  (await responseMessages) ?? (await response).messages;

const HOW = {
  whole: async (sdk: typeof six, model: Model, asked: Asked) => {
    const result = await sdk.generateText({ ...asked, model, maxRetries: 0 });
    return { text: result.text, messages: await messagesOf(result), steps: result.steps };
  },
  streamed: async (sdk: typeof six, model: Model, asked: Asked) => {
    const result = sdk.streamText({ ...asked, model, maxRetries: 0, onError: () => undefined });
    return { text: await result.text, messages: await messagesOf(result), steps: await result.steps };
  },
};

const promptOf = (engine: FakeEngine) => {
  const { input } = engine.jobs.at(-1) as ChatJob;
  return 'messages' in input ? input.messages : [];
};

describe.each(majors)('the AI SDK %s', (_, sdk) => {
  describe.each(Object.keys(HOW) as (keyof typeof HOW)[])('the default provider, %s', (how) => {
    test('a chat of three turns', async () => {
      const engine = new FakeEngine({ thoughts: ['Hm.'] });
      const { model, inputs } = await connect(sdk, engine);
      const messages: ModelMessage[] = [];
      for (const turn of ['One.', 'Two.', 'Three.']) {
        messages.push({ role: 'user', content: turn });
        const reply = await HOW[how](sdk, model, { messages, system: 'Be brief.' });
        expect(reply.text).toBe('Hello, world!');
        messages.push(...reply.messages);
      }
      expect(promptOf(engine).map(({ role, content }) => [role, content])).toEqual([
        ['system', 'Be brief.'],
        ['user', 'One.'],
        ['assistant', 'Hello, world!'],
        ['user', 'Two.'],
        ['assistant', 'Hello, world!'],
        ['user', 'Three.'],
      ]);
      expect(inputs[2]?.filter(({ type }) => type === 'item_reference').length).toBeGreaterThanOrEqual(2);
    });

    test('a loop with a tool, and a turn after it', async () => {
      const engine = new FakeEngine(callFirst);
      const { model, inputs } = await connect(sdk, engine);
      const given: unknown[] = [];
      const tools = {
        light: sdk.tool({
          description: 'Switches the light.',
          inputSchema: light,
          execute: (input) => {
            given.push(input);
            return Promise.resolve('The light is on.');
          },
        }),
      };
      const messages: ModelMessage[] = [{ role: 'user', content: 'Light on.' }];
      const first = await HOW[how](sdk, model, { messages, tools, stopWhen: sdk.stepCountIs(3) });
      expect(given).toEqual([{ mode: 'on' }]);
      expect(first.text).toBe('It is on.');
      expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
      expect(inputs[1]).toContainEqual(expect.objectContaining({ type: 'item_reference' }));
      messages.push(...first.messages, { role: 'user', content: 'Thanks.' });
      engine.reply = () => ({ deltas: ['Any time.'] });
      const second = await HOW[how](sdk, model, { messages, tools });
      expect(second.text).toBe('Any time.');
      expect(promptOf(engine).slice(-5)).toMatchObject([
        { role: 'user', content: 'Light on.' },
        { role: 'assistant', toolCalls: [{ name: 'light', arguments: '{"mode":"on"}' }] },
        { role: 'tool', content: 'The light is on.' },
        { role: 'assistant', content: 'It is on.' },
        { role: 'user', content: 'Thanks.' },
      ]);
    });
  });

  test.each(['a stop', 'an error'])('a chat goes on after %s in mid-reply', async (end) => {
    const engine = new FakeEngine({
      thoughts: ['Hm.'],
      deltas: ['Hello', ', ', 'world'],
      delayMs: 5,
      fail: new Error('x'),
    });
    const { model, inputs } = await connect(sdk, engine);
    const stop = new AbortController();
    const first = sdk.streamText({
      model,
      prompt: 'One.',
      maxRetries: 0,
      abortSignal: stop.signal,
      onError: () => undefined,
    });
    const shown: ai6.UIMessage[] = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'One.' }] }];
    const stream = first.toUIMessageStream();
    for await (const reply of sdk.readUIMessageStream({ stream, onError: () => undefined })) {
      shown[1] = structuredClone(reply);
      const last = reply.parts.at(-1);
      if (end === 'a stop' && last?.type === 'text' && last.text !== '') stop.abort();
    }
    engine.reply = () => ({});
    const messages = await sdk.convertToModelMessages(shown);
    const content = 'Two.';
    const second = await HOW.streamed(sdk, model, { messages: [...messages, { role: 'user', content }] });
    expect(second.text).toBe('Hello, world!');
    expect(inputs[1]).toContainEqual({
      type: 'item_reference',
      id: expect.stringMatching(/^msg_/) as string,
    });
    expect(promptOf(engine)).toEqual([
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: expect.stringMatching(/^Hello/) as string },
      { role: 'user', content },
    ]);
  });

  test('the default provider holds an object to its schema', async () => {
    const { model } = await connect(sdk, new FakeEngine());
    const { object } = await sdk.generateObject({ model, prompt: 'Light?', schema: light, maxRetries: 0 });
    expect(object).toEqual({ mode: 'on' });
  });
});

test('the provider for compatible services: thoughts, and a tool that is called in a step', async () => {
  const { service, key } = await fakeService({ engine: new FakeEngine(callFirst) });
  const provider = createOpenAICompatible({
    name: 'localtext',
    baseURL: 'https://site.example/v1',
    apiKey: key,
    fetch: (url, init) => service(new Request(url, init)),
  });
  const model = provider('amber-phoenix-4');
  const execute = async ({ mode }: z.infer<typeof light>) => `The light is ${mode}.`;
  const tools = { light: ai6.tool({ inputSchema: light, execute }) };
  const providerOptions = { localtext: { reasoningEffort: 'medium' } };
  const asked = { model, tools, prompt: 'On.', stopWhen: ai6.stepCountIs(2), providerOptions };
  const whole = await ai6.generateText(asked);
  expect(whole.steps[0]).toMatchObject({
    reasoningText: 'Hm.',
    toolResults: [{ output: 'The light is on.' }],
  });
  expect(whole.text).toBe('It is on.');
  const parts: string[] = [];
  for await (const { type } of ai6.streamText(asked).fullStream) if (type !== parts.at(-1)) parts.push(type);
  expect(parts.filter((type) => /^(reasoning|tool|text)-/.test(type))).toEqual(
    'reasoning-start reasoning-delta reasoning-end tool-input-start tool-input-delta tool-input-end tool-call tool-result text-start text-delta text-end'.split(
      ' ',
    ),
  );
});
