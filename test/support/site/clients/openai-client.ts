import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import * as z from 'zod';

/** What an application does with the `openai` package; what each flow saw is returned as data. */

const model = 'amber-phoenix-4';
const light = z.object({ mode: z.enum(['on', 'off']), room: z.enum(['kitchen', 'hall']) });
const question = { role: 'user' as const, content: 'Switch the light in the kitchen on.' };

const connect = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${location.origin}/v1`, dangerouslyAllowBrowser: true, maxRetries: 0 });

export async function runTools(apiKey: string) {
  const given: unknown[] = [];
  const seen: string[] = [];
  const runner = connect(apiKey)
    .chat.completions.runTools(
      {
        model,
        messages: [question],
        max_tokens: 256,
        temperature: 0,
        tool_choice: { type: 'function', function: { name: 'switch_light' } },
        parallel_tool_calls: false,
        tools: [
          zodFunction({
            name: 'switch_light',
            description: 'Switches a light.',
            parameters: light,
            function: (args) => {
              given.push(args);
              return 'The light is on.';
            },
          }),
        ],
      },
      { maxChatCompletions: 1 },
    )
    .on('functionToolCall', ({ name }) => seen.push(name))
    .on('functionToolCallResult', (content) => seen.push(content));
  await runner.done();
  return { given, seen, roles: runner.messages.map(({ role }) => role) };
}

/** The whole way: a call, its result, and a reply that knows of it. */
export async function callAndAnswer(apiKey: string) {
  const client = connect(apiKey);
  const tools = [zodFunction({ name: 'switch_light', description: 'Switches a light.', parameters: light })];
  const stream = client.chat.completions.stream({
    model,
    messages: [question],
    tools,
    tool_choice: 'required',
    parallel_tool_calls: false,
    max_tokens: 256,
    temperature: 0,
  });
  const pieces: string[] = [];
  stream.on('tool_calls.function.arguments.delta', ({ arguments_delta: piece }) => pieces.push(piece));
  const first = await stream.finalChatCompletion();
  const message = first.choices[0]?.message;
  const call = message?.tool_calls?.[0];
  if (!message || !call) throw new Error('there is no call');
  const answer = await client.chat.completions.create({
    model,
    messages: [question, message, { role: 'tool', tool_call_id: call.id, content: 'The light is on.' }],
    tools,
    tool_choice: 'none',
    max_tokens: 8,
    temperature: 0,
  });
  return {
    name: call.function.name,
    parsed: call.function.parsed_arguments,
    joined: pieces.join('') === call.function.arguments,
    pieces: pieces.length,
    finishReason: first.choices[0]?.finish_reason,
    answered: answer.choices[0]?.message.content,
  };
}

export async function parse(apiKey: string) {
  const client = connect(apiKey);
  const chat = await client.chat.completions.parse({
    model,
    messages: [question],
    response_format: zodResponseFormat(light, 'light'),
    max_tokens: 256,
    temperature: 0,
  });
  const response = await client.responses.parse({
    model,
    input: question.content,
    text: { format: zodTextFormat(light, 'light') },
    max_output_tokens: 256,
    temperature: 0,
  });
  return { chat: chat.choices[0]?.message.parsed, response: response.output_parsed };
}

type Thought<Message> = Message & { reasoning_content?: string };
const sea = { role: 'user' as const, content: 'What is the sea?' };

/** Returns each choice's thoughts, its text, and the order in which they came. */
export async function thoughts(apiKey: string, id: string, more: object) {
  const stream = await connect(apiKey).chat.completions.create({
    model: id,
    messages: [sea],
    temperature: 0,
    max_tokens: 20,
    stream: true,
    stream_options: { include_usage: true },
    ...more,
  });
  const choices = [0, 1].map(() => ({ reasoning: '', text: '', order: [] as string[], finish: '' }));
  let usage;
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      const choice = choices[index];
      if (!choice) continue;
      const { reasoning_content: reasoning, content }: Thought<typeof delta> = delta;
      choice.reasoning += reasoning ?? '';
      document.title = choice.reasoning;
      choice.text += content ?? '';
      const kind = reasoning ? 'reasoning' : content ? 'text' : '';
      if (kind && kind !== choice.order.at(-1)) choice.order.push(kind);
      choice.finish = finish ?? choice.finish;
    }
  }
  return { choices, usage };
}
