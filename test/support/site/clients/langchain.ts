import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import * as z from 'zod';

/** What an application does with LangChain; what each flow saw is returned as data. */

const light = z.object({ mode: z.enum(['on', 'off']), room: z.enum(['kitchen', 'hall']) });
const prompt = 'Switch the light in the kitchen on.';

const configuration = () => ({ baseURL: `${location.origin}/v1`, dangerouslyAllowBrowser: true });
const chat = (apiKey: string, maxTokens = 256): ChatOpenAI =>
  new ChatOpenAI({
    model: 'amber-phoenix-4',
    apiKey,
    configuration: configuration(),
    temperature: 0,
    maxTokens,
    maxRetries: 0,
  });

export async function text(apiKey: string) {
  const model = chat(apiKey, 6);
  const whole = await model.invoke('Say hello.');
  let written = '';
  let deltas = 0;
  for await (const chunk of await model.stream('Say hello.')) {
    written += chunk.text;
    deltas++;
  }
  return { whole: whole.text, written, deltas };
}

export async function structured(apiKey: string) {
  const byFunction = await chat(apiKey)
    .withStructuredOutput(light, { method: 'functionCalling' })
    .invoke(prompt);
  const bySchema = await chat(apiKey).withStructuredOutput(light, { method: 'jsonSchema' }).invoke(prompt);
  return { byFunction, bySchema };
}

export async function tools(apiKey: string) {
  const switchLight = tool(() => 'The light is on.', {
    name: 'switch_light',
    description: 'Switches a light.',
    schema: light,
  });
  const question = new HumanMessage(prompt);
  const called = await chat(apiKey)
    .bindTools([switchLight], { tool_choice: 'switch_light' })
    .invoke([question]);
  const [call] = called.tool_calls ?? [];
  if (!call?.id) throw new Error('there is no call');
  const result = new ToolMessage({ tool_call_id: call.id, content: 'The light is on.' });
  const answer = await chat(apiKey, 6).invoke([question, called, result]);
  return { calls: called.tool_calls?.map(({ name, args }) => ({ name, args })), answer: answer.text };
}

export async function embeddings(apiKey: string) {
  const model = new OpenAIEmbeddings({
    model: 'jade-mole-4',
    apiKey,
    configuration: configuration(),
    maxRetries: 0,
  });
  const vectors = await model.embedDocuments(['An owl.', 'A mole.']);
  return vectors.map((vector) => Math.hypot(...vector));
}

export async function thoughts(apiKey: string, model: string) {
  const thinker = new ChatOpenAI({
    model,
    apiKey,
    configuration: configuration(),
    temperature: 0,
    maxTokens: 12,
    maxRetries: 0,
    modelKwargs: { reasoning_effort: 'medium' },
  });
  const whole = await thinker.invoke('What is the sea?');
  let streamed = '';
  for await (const chunk of await thinker.stream('What is the sea?')) {
    const { reasoning_content: thought } = chunk.additional_kwargs;
    if (typeof thought === 'string') streamed += thought;
  }
  return { reasoning: whole.additional_kwargs['reasoning_content'], text: whole.text, streamed };
}
