import { createOpenAI } from '@ai-sdk/openai';
import { generateObject, generateText, stepCountIs, streamText, tool, type ModelMessage } from 'ai';
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

async function connect(engine: FakeEngine) {
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
type Asked = Omit<Parameters<typeof generateText>[0], 'model' | 'prompt' | 'messages'> & {
  messages: ModelMessage[];
};

const HOW = {
  whole: async (model: Model, asked: Asked) => {
    const { text, response, steps } = await generateText({ ...asked, model, maxRetries: 0 });
    return { text, messages: response.messages, steps };
  },
  streamed: async (model: Model, asked: Asked) => {
    const result = streamText({ ...asked, model, maxRetries: 0, onError: () => undefined });
    return { text: await result.text, messages: (await result.response).messages, steps: await result.steps };
  },
};

const promptOf = (engine: FakeEngine) => {
  const { input } = engine.jobs.at(-1) as ChatJob;
  return 'messages' in input ? input.messages : [];
};

describe.each(Object.keys(HOW) as (keyof typeof HOW)[])('the default provider, %s', (how) => {
  test('a chat of three turns', async () => {
    const engine = new FakeEngine({ thoughts: ['Hm.'] });
    const { model, inputs } = await connect(engine);
    const messages: ModelMessage[] = [];
    for (const turn of ['One.', 'Two.', 'Three.']) {
      messages.push({ role: 'user', content: turn });
      const reply = await HOW[how](model, { messages, system: 'Be brief.' });
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
    const { model, inputs } = await connect(engine);
    const given: unknown[] = [];
    const tools = {
      light: tool({
        description: 'Switches the light.',
        inputSchema: light,
        execute: (input) => {
          given.push(input);
          return Promise.resolve('The light is on.');
        },
      }),
    };
    const messages: ModelMessage[] = [{ role: 'user', content: 'Light on.' }];
    const first = await HOW[how](model, { messages, tools, stopWhen: stepCountIs(3) });
    expect(given).toEqual([{ mode: 'on' }]);
    expect(first.text).toBe('It is on.');
    expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(inputs[1]).toContainEqual(expect.objectContaining({ type: 'item_reference' }));
    messages.push(...first.messages, { role: 'user', content: 'Thanks.' });
    engine.reply = () => ({ deltas: ['Any time.'] });
    const second = await HOW[how](model, { messages, tools });
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

test('the default provider holds an object to its schema', async () => {
  const { model } = await connect(new FakeEngine());
  const { object } = await generateObject({ model, prompt: 'Light?', schema: light, maxRetries: 0 });
  expect(object).toEqual({ mode: 'on' });
});
