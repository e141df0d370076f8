import { samplingModeOf } from '#jobs';
import { BASIC_PARAMETERS } from './common-parameters.ts';
import { indented, leftOut, literal, members, type Body } from './literal.ts';

interface SentMessage {
  role: string;
  content: unknown;
}

/** Fields that the code below writes in the terms of the Prompt API. */
const SAID = [...BASIC_PARAMETERS, 'response_format'];

/** The chat by `LanguageModel`, the web's own API. */
export function languageModelSample(body: Body): string {
  const { temperature = 1, top_p: topP = 1 } = body as { temperature?: number; top_p?: number };
  const format = body['response_format'] as { json_schema?: { schema?: unknown } } | undefined;
  const messages = (Array.isArray(body['messages']) ? body['messages'] : []) as SentMessage[];
  const texts = messages.map(({ role, content }) => ({
    role: role === 'developer' ? 'system' : role,
    content,
  }));
  const installed = members({
    model: body['model'],
    maxTokens: body['max_completion_tokens'] ?? body['max_tokens'],
  });
  const created = members({
    samplingMode: samplingModeOf({ temperature, topP }),
    initialPrompts: texts.length > 1 ? texts.slice(0, -1) : undefined,
  });
  const schema = format?.json_schema?.schema;
  const constraint = schema ? `, { responseConstraint: ${literal(schema)} }` : '';
  const last = indented(literal(texts.slice(-1)));
  return `${leftOut(body, SAID, 'the Prompt API')}import { start } from 'localtext';
import { installLanguageModel } from 'localtext/language-model';

installLanguageModel(start(), {${installed}
});
const session = await LanguageModel.create({${created}
});
${
  body['stream'] === true
    ? `for await (const text of session.promptStreaming(${last}${constraint})) {
  console.log(text);
}`
    : `console.log(await session.prompt(${last}${constraint}));`
}`;
}
