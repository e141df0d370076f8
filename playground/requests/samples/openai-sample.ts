import { literal, type Body } from './literal.ts';

const CALLS: Record<string, string> = {
  '/v1/chat/completions': 'chat.completions',
  '/v1/embeddings': 'embeddings',
  '/v1/completions': 'completions',
  '/v1/responses': 'responses',
  '/v1/audio/speech': 'audio.speech',
};

export function openAiSample(body: Body, path: string): string {
  const call = CALLS[path];
  // The client has no method for localtext's other endpoints.
  const asked = call
    ? `${call}.create(${literal(body)})`
    : `post(${JSON.stringify(path.replace(/^.*?\/v1(?=\/)/, ''))}, { body: ${literal(body)} })`;
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: location.origin + '/v1',
  // fetch: localtext.fetch, // of start(): an abort then ends the computation at once
  apiKey: 'lt_…',
  dangerouslyAllowBrowser: true,
});
const answer = await client.${asked};
${ending(call, body)}`;
}

function ending(call: string | undefined, body: Body): string {
  if (call === 'audio.speech') return 'await new Audio(URL.createObjectURL(await answer.blob())).play();';
  return call && body['stream'] === true ? streamed(call) : 'console.log(answer);';
}

function streamed(call: string): string {
  const [item, text] =
    call === 'chat.completions'
      ? ['chunk', `chunk.choices[0]?.delta.content ?? ''`]
      : call === 'completions'
        ? ['chunk', `chunk.choices[0]?.text ?? ''`]
        : ['event', 'event'];
  return `for await (const ${item} of answer) {
  console.log(${text});
}`;
}
