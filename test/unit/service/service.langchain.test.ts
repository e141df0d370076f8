import { ContextOverflowError } from '@langchain/core/errors';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { refuseOversized } from '../../../src/chat-template/prompt-bounds.ts';
import { contextLengthExceeded } from '../../../src/base/errors/engine-errors.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { fakeService } from '../../support/fake-service.ts';

function refusedByLength(): unknown {
  try {
    return refuseOversized({ input: { prompt: 'x'.repeat(1000) } }, 8);
  } catch (error) {
    return error;
  }
}

const light = z.object({ mode: z.enum(['on', 'off']) });

async function connect(engine = new FakeEngine()) {
  const { service, key } = await fakeService({ engine });
  const configuration = {
    baseURL: 'https://site.example/v1',
    fetch: (url: string | URL | Request, init?: RequestInit) => service(new Request(url, init)),
  };
  const options = { apiKey: key, maxRetries: 0, configuration };
  const chat = (modelKwargs = {}) => new ChatOpenAI({ model: 'amber-phoenix-4', modelKwargs, ...options });
  return { chat, embeddings: () => new OpenAIEmbeddings({ model: 'jade-mole-4', ...options }) };
}

test('LangChain reads a reply and its thoughts, whole and streamed', async () => {
  const { chat } = await connect(new FakeEngine({ thoughts: ['I ', 'add.'] }));
  const model = chat({ reasoning_effort: 'medium' });
  const whole = await model.invoke('Say hello.');
  expect(whole.text).toBe('Hello, world!');
  expect(whole.additional_kwargs['reasoning_content']).toBe('I add.');
  const pieces = { text: '', thoughts: '' };
  for await (const chunk of await model.stream('Say hello.')) {
    const { reasoning_content: thought } = chunk.additional_kwargs;
    pieces.text += chunk.text;
    if (typeof thought === 'string') pieces.thoughts += thought;
  }
  expect(pieces).toEqual({ text: 'Hello, world!', thoughts: 'I add.' });
});

test.each(['functionCalling', 'jsonSchema'] as const)('LangChain structures output by %s', async (method) => {
  const { chat } = await connect();
  const model = chat().withStructuredOutput(light, { method });
  expect(await model.invoke('Light on.')).toEqual({ mode: 'on' });
});

test('LangChain’s tools, and a result that is answered', async () => {
  const { chat } = await connect();
  const switchLight = tool(() => '', { name: 'light', description: 'Switches a light.', schema: light });
  const question = new HumanMessage('Light on.');
  const called = await chat().bindTools([switchLight], { tool_choice: 'light' }).invoke([question]);
  const [call] = called.tool_calls ?? [];
  expect(call).toMatchObject({ name: 'light', args: { mode: 'on' } });
  const result = new ToolMessage({ tool_call_id: call?.id ?? '', content: 'The light is on.' });
  expect((await chat().invoke([question, called, result])).text).toBe('Hello, world!');
});

test('LangChain’s embeddings', async () => {
  const { embeddings } = await connect();
  const vectors = await embeddings().embedDocuments(['An owl.', 'A mole.']);
  expect(vectors.map((each) => Math.hypot(...each))).toEqual([expect.closeTo(1, 3), expect.closeTo(1, 3)]);
});

test.each([
  ['counted', contextLengthExceeded(9000, 8192)],
  ['measured', refusedByLength()],
])('LangChain knows a prompt that is too long when it is %s', async (_, refuse) => {
  const { chat } = await connect(new FakeEngine({ refuse }));
  const model = chat();
  await expect(model.invoke('Hi.')).rejects.toBeInstanceOf(ContextOverflowError);
  await expect(model.stream('Hi.')).rejects.toBeInstanceOf(ContextOverflowError);
});
