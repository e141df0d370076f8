import type { RequestLogEntry } from '../../protocol/request-log.ts';

export const SAMPLES = [
  { value: 'openai', label: 'OpenAI SDK' },
  { value: 'ai-sdk', label: 'AI SDK' },
  { value: 'langchain', label: 'LangChain' },
  { value: 'curl', label: 'curl' },
] as const;
export type SampleKind = (typeof SAMPLES)[number]['value'];

type Body = Record<string, unknown>;

/** Code that asks the same again. */
export function codeSample(kind: SampleKind, { path, requestBody }: RequestLogEntry): string {
  const body = parsed(requestBody?.text ?? '');
  if (!body) return '// The body was too long to be kept whole, or is not JSON.';
  const embeds = path.endsWith('/embeddings');
  switch (kind) {
    case 'openai':
      return openAiSdk(body, path);
    case 'ai-sdk':
      return embeds ? aiSdkEmbed(body) : aiSdkChat(body);
    case 'langchain':
      return embeds ? langChainEmbed(body) : langChainChat(body);
    case 'curl':
      return curl(body, path);
  }
}

const literal = (value: unknown): string =>
  // Keys that are names need no quotes in code.
  JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');

function openAiSdk(body: Body, path: string): string {
  const call = path.endsWith('/embeddings')
    ? 'embeddings.create'
    : path.endsWith('/chat/completions')
      ? 'chat.completions.create'
      : path.endsWith('/responses')
        ? 'responses.create'
        : 'completions.create';
  const use =
    body['stream'] === true && call === 'chat.completions.create'
      ? `\n\nfor await (const chunk of answer) {\n  console.log(chunk.choices[0]?.delta.content ?? '');\n}`
      : '\nconsole.log(answer);';
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: location.origin + '/v1',
  apiKey: 'lt_…',
  dangerouslyAllowBrowser: true,
});
const answer = await client.${call}(${literal(body)});${use}`;
}

const AI_SDK_PROVIDER = `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
`;
const aiSdkProvider = `
const localtext = createOpenAICompatible({
  name: 'localtext',
  baseURL: location.origin + '/v1',
  apiKey: 'lt_…',
});`;

function aiSdkChat(body: Body): string {
  const streamed = body['stream'] === true;
  const call = streamed ? 'streamText' : 'generateText';
  const stop = body['stop'];
  const options = defined({
    messages: body['messages'],
    temperature: body['temperature'],
    topP: body['top_p'],
    maxOutputTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    seed: body['seed'],
    stopSequences: typeof stop === 'string' ? [stop] : stop,
    presencePenalty: body['presence_penalty'],
    frequencyPenalty: body['frequency_penalty'],
  });
  const model = `  model: localtext(${JSON.stringify(body['model'])}),`;
  return `${AI_SDK_PROVIDER}import { ${call} } from 'ai';
${aiSdkProvider}
const result = ${streamed ? '' : 'await '}${call}({
${model}${literal(options).slice(1)});
${streamed ? 'for await (const text of result.textStream) console.log(text);' : 'console.log(result.text);'}`;
}

function aiSdkEmbed(body: Body): string {
  return `${AI_SDK_PROVIDER}import { embedMany } from 'ai';
${aiSdkProvider}
const { embeddings } = await embedMany({
  model: localtext.textEmbeddingModel(${JSON.stringify(body['model'])}),
  values: ${literal([body['input']].flat())},
});`;
}

function langChainChat(body: Body): string {
  const options = defined({
    model: body['model'],
    temperature: body['temperature'],
    topP: body['top_p'],
    maxTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    stop: body['stop'],
    presencePenalty: body['presence_penalty'],
    frequencyPenalty: body['frequency_penalty'],
  });
  const streamed = body['stream'] === true;
  const call = `model.${streamed ? 'stream' : 'invoke'}(${literal(body['messages'])})`;
  return `import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  apiKey: 'lt_…',
  configuration: { baseURL: location.origin + '/v1', dangerouslyAllowBrowser: true },${literal(options).slice(1)});
${streamed ? `for await (const chunk of await ${call}) console.log(chunk.content);` : `console.log((await ${call}).content);`}`;
}

function langChainEmbed(body: Body): string {
  return `import { OpenAIEmbeddings } from '@langchain/openai';

const embeddings = new OpenAIEmbeddings({
  apiKey: 'lt_…',
  model: ${JSON.stringify(body['model'])},
  configuration: { baseURL: location.origin + '/v1', dangerouslyAllowBrowser: true },
});
console.log(await embeddings.embedDocuments(${literal([body['input']].flat())}));`;
}

function curl(body: Body, path: string): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return `# /v1 lives inside the page: curl reaches only a server. Set SERVER to one that speaks the same API.
curl "$SERVER${path}" \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${quoted}'`;
}

function defined(options: Body): Body {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}

function parsed(text: string): Body | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
