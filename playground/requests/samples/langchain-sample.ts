import { COMMON_PARAMETERS } from './common-parameters.ts';
import { defined, indented, literal, members, without, type Body } from './literal.ts';

const CONFIGURATION = `  configuration: { baseURL: location.origin + '/v1', dangerouslyAllowBrowser: true },`;

export function langChainChat(body: Body): string {
  const stop = body['stop'];
  // Other parameters are passed on unchanged.
  const others = without(body, COMMON_PARAMETERS);
  const options = members({
    model: body['model'],
    temperature: body['temperature'],
    topP: body['top_p'],
    maxTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    stop: typeof stop === 'string' ? [stop] : stop,
    presencePenalty: body['presence_penalty'],
    frequencyPenalty: body['frequency_penalty'],
    ...(Object.keys(others).length > 0 && { modelKwargs: others }),
  });
  const streamed = body['stream'] === true;
  const call = `model.${streamed ? 'stream' : 'invoke'}(${literal(body['messages'])})`;
  return `import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  apiKey: 'lt_…',
${CONFIGURATION}${options}
})${bound(body)};
${
  streamed
    ? `for await (const chunk of await ${call}) {
  console.log(chunk.content);
}`
    : `const answer = await ${call};
console.log(answer.content${body['tools'] ? ', answer.tool_calls' : ''});`
}`;
}

function bound(body: Body): string {
  if (!body['tools']) return '';
  const options = defined({ tool_choice: body['tool_choice'] });
  return `.bindTools(${indented(literal(body['tools']))}, ${literal(options)})`;
}

export function langChainEmbed(body: Body): string {
  return `import { OpenAIEmbeddings } from '@langchain/openai';

const embeddings = new OpenAIEmbeddings({
  apiKey: 'lt_…',
${CONFIGURATION}${members({ model: body['model'], dimensions: body['dimensions'] })}
});
console.log(await embeddings.embedDocuments(${literal([body['input']].flat())}));`;
}
