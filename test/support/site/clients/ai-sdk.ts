import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  convertToModelMessages,
  generateText,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
} from 'ai';
import * as z from 'zod';

/** What an application does with the AI SDK; what each flow saw is returned as data. */

const light = z.object({ mode: z.enum(['on', 'off']), room: z.enum(['kitchen', 'hall']) });
const prompt = 'Switch the light in the kitchen on.';

const connect = (apiKey: string) =>
  createOpenAICompatible({
    name: 'localtext',
    baseURL: `${location.origin}/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
const chat = (apiKey: string) => connect(apiKey)('amber-phoenix-4');
const short = { maxOutputTokens: 256, temperature: 0, maxRetries: 0 };

const switchLight = (given: unknown[]) =>
  tool({
    description: 'Switches a light.',
    inputSchema: light,
    execute: (input) => {
      given.push(input);
      return Promise.resolve('The light is on.');
    },
  });

export async function tools(apiKey: string) {
  const given: unknown[] = [];
  const called = await generateText({
    ...short,
    model: chat(apiKey),
    prompt,
    tools: { switchLight: switchLight(given) },
    toolChoice: { type: 'tool', toolName: 'switchLight' },
    // The first step calls, the second answers.
    prepareStep: ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: 'none' } : {}),
    stopWhen: stepCountIs(2),
    maxOutputTokens: 256,
  });
  const streamed = streamText({
    ...short,
    model: chat(apiKey),
    prompt,
    tools: { switchLight: switchLight(given) },
    // One call: a model this small does not end a list before its tokens do.
    toolChoice: { type: 'tool', toolName: 'switchLight' },
  });
  const parts: string[] = [];
  for await (const part of streamed.fullStream) if (part.type !== parts.at(-1)) parts.push(part.type);
  return {
    given,
    steps: called.steps.map(({ finishReason, toolCalls }) => [finishReason, toolCalls.length]),
    text: called.text,
    parts,
  };
}

/** A chat whose first reply is stopped, and the turn that follows at once. */
export async function stopped(apiKey: string) {
  const model = createOpenAI({ baseURL: `${location.origin}/v1`, apiKey })('amber-phoenix-4');
  const stop = new AbortController();
  const chatted: UIMessage[] = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Count to 100.' }] }];
  const first = streamText({
    ...short,
    model,
    messages: await convertToModelMessages(chatted),
    abortSignal: stop.signal,
  });
  let shown = '';
  for await (const reply of readUIMessageStream({ stream: first.toUIMessageStream() })) {
    chatted[1] = structuredClone(reply);
    const part = reply.parts.at(-1);
    if (part?.type === 'text') shown = part.text;
    if (shown !== '') stop.abort();
  }
  const messages = await convertToModelMessages(chatted);
  messages.push({ role: 'user', content: 'Stop.' });
  const second = streamText({ ...short, model, messages, maxOutputTokens: 6 });
  return { shown, text: await second.text, asked: JSON.stringify((await second.request).body) };
}

export async function thoughts(apiKey: string, model: string) {
  const asked = {
    ...short,
    model: connect(apiKey)(model),
    prompt: 'What is the sea?',
    maxOutputTokens: 12,
    providerOptions: { localtext: { reasoningEffort: 'medium' } },
  };
  const whole = await generateText(asked);
  const parts: string[] = [];
  for await (const part of streamText(asked).fullStream)
    if (part.type !== parts.at(-1)) parts.push(part.type);
  return {
    reasoning: whole.reasoningText,
    text: whole.text,
    reasoningTokens: whole.usage.outputTokenDetails.reasoningTokens,
    parts,
  };
}
