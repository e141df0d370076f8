import { aiMessages } from './ai-sdk-messages.ts';
import { COMMON_PARAMETERS } from './common-parameters.ts';
import { indented, leftOut, literal, members, type Body } from './literal.ts';

/** Parameters that the code below writes in the AI SDK's terms, or that the SDK sets itself. */
const SAID = [...COMMON_PARAMETERS, 'seed', 'response_format'];

interface FunctionTool {
  function?: { name?: string; description?: string; parameters?: unknown };
}

export function aiSdkChat(body: Body): string {
  const streamed = body['stream'] === true;
  const call = streamed ? 'streamText' : 'generateText';
  const stop = body['stop'];
  const tools = (body['tools'] as FunctionTool[] | undefined) ?? [];
  const format = body['response_format'] as { type?: string; json_schema?: { schema?: unknown } } | undefined;
  const schema = format?.type === 'json_schema' ? format.json_schema?.schema : undefined;
  const output = outputOption(format?.type, schema);
  const imports = [
    call,
    ...(output ? ['Output'] : []),
    ...(schema || tools.length > 0 ? ['jsonSchema'] : []),
    ...(tools.length > 0 ? ['tool'] : []),
  ];
  const options = members({
    messages: aiMessages(body['messages']),
    temperature: body['temperature'],
    topP: body['top_p'],
    maxOutputTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    seed: body['seed'],
    stopSequences: typeof stop === 'string' ? [stop] : stop,
    presencePenalty: body['presence_penalty'],
    frequencyPenalty: body['frequency_penalty'],
    toolChoice: toolChoice(body['tool_choice']),
  });
  return `${leftOut(body, SAID, 'the AI SDK')}${provider(output !== '', `import { ${imports.join(', ')} } from 'ai';\n`)}
const result = ${streamed ? '' : 'await '}${call}({
  model: localtext(${JSON.stringify(body['model'])}),${output}${toolSet(tools)}${options}
});
${printing(streamed, tools.length > 0)}`;
}

function outputOption(type: string | undefined, schema: unknown): string {
  if (schema) return `\n  output: Output.object({ schema: jsonSchema(${indented(literal(schema))}) }),`;
  return type === 'json_object' ? '\n  output: Output.json(),' : '';
}

const printing = (streamed: boolean, hasTools: boolean): string =>
  streamed
    ? `for await (const text of result.textStream) {
  console.log(text);
}${hasTools ? '\nconsole.log(await result.toolCalls);' : ''}`
    : `console.log(result.text${hasTools ? ', result.toolCalls' : ''});`;

export function aiSdkEmbed(body: Body): string {
  return `${provider(false, `import { embedMany } from 'ai';\n`)}
const { embeddings } = await embedMany({
  model: localtext.textEmbeddingModel(${JSON.stringify(body['model'])}),
  values: ${indented(literal([body['input']].flat()))},
});
console.log(embeddings);`;
}

const provider = (
  structured: boolean,
  imports: string,
): string => `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
${imports}
const localtext = createOpenAICompatible({
  name: 'localtext',
  baseURL: location.origin + '/v1',
  apiKey: 'lt_…',${structured ? '\n  supportsStructuredOutputs: true,' : ''}
});`;

function toolSet(tools: FunctionTool[]): string {
  if (tools.length === 0) return '';
  const each = tools.map(({ function: { name = '', description, parameters } = {} }) => {
    const described = description === undefined ? '' : `\n      description: ${JSON.stringify(description)},`;
    const schema = indented(indented(indented(literal(parameters ?? { type: 'object', properties: {} }))));
    return `\n    ${JSON.stringify(name)}: tool({${described}\n      inputSchema: jsonSchema(${schema}),\n    }),`;
  });
  return `\n  tools: {${each.join('')}\n  },`;
}

function toolChoice(choice: unknown): unknown {
  const named = choice as FunctionTool | null | undefined;
  return typeof choice === 'object' && named?.function
    ? { type: 'tool', toolName: named.function.name }
    : choice;
}
