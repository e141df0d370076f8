import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { chosenVariant } from '../client/model-facts.ts';
import { FIRST_CHAT_MODEL } from '../client/models.ts';
import { messageOf } from '../format.ts';

/** Values of the settings panel. JSON is stored as typed text, and parsed when it is sent. */
export interface ChatSettings {
  model: string;
  system: string;
  /** Turns before the conversation, one a line: the user's message, `=>` and its reply. */
  examples: string;
  temperature: number;
  topP: number;
  /** Null means the service's default. */
  maxTokens: number | null;
  seed: number | null;
  /** `default` is not sent. */
  reasoning: 'default' | 'none' | 'low' | 'medium' | 'high';
  presencePenalty: number;
  /** Null means the default of the model's weights. */
  frequencyPenalty: number | null;
  /** One sequence a line, `\n` for a line break. */
  stop: string;
  choices: number;
  logprobs: boolean;
  topLogprobs: number;
  logitBias: string;
  format: 'text' | 'json_object' | 'json_schema';
  schema: string;
  tools: string;
  toolChoice: 'auto' | 'none' | 'required';
}

/** Without both, the smallest model answers a greeting with a text of its training: docs/models.md. */
const DEFAULT_SYSTEM = 'You are a helpful assistant. You answer questions and follow instructions.';
const DEFAULT_EXAMPLES = `What color is a lemon? => A lemon is yellow.
Danke => You're welcome! How can I help you today?
Write a sentence about the sun. => The sun warms the earth and gives us light.
Wer bist du? => Hello! I'm a small language model in this page. How can I help you today?
Give me a recipe for lemonade => Mix lemon juice, sugar and water. Serve it cold.
Thanks => You're welcome! How can I help you today?
Help => Hello! How can I help you today?
What is 2 plus 3? => 2 plus 3 is 5.
What can you do? => Hello! I can answer simple questions and shorten or rewrite short texts.
Shorten: The meeting was moved from Monday to Friday. => The meeting is on Friday.
I need help => Hello! How can I help you today?
Hi => Hello! How can I help you today?
Name three trees => Oak, birch and pine.
Who are you? => Hello! I'm a small language model in this page. How can I help you today?`;

export const DEFAULT_SETTINGS: ChatSettings = {
  model: FIRST_CHAT_MODEL,
  system: DEFAULT_SYSTEM,
  examples: DEFAULT_EXAMPLES,
  temperature: 0.2,
  topP: 1,
  maxTokens: 300,
  seed: null,
  reasoning: 'default',
  presencePenalty: 0,
  frequencyPenalty: null,
  stop: '',
  choices: 1,
  logprobs: false,
  topLogprobs: 3,
  logitBias: '',
  format: 'text',
  schema: '',
  tools: '',
  toolChoice: 'auto',
};

/** The frequency penalty of the weights that answer here; 0 for servers, and until the engine has chosen weights. */
export function ownPenalty(model: string): number {
  const variant = chosenVariant(model);
  return (variant?.engine === 'wllama' && variant.sampling?.frequencyPenalty) || 0;
}

/** Thrown for an invalid setting. */
export class SettingsError extends Error {}

/** Builds a request for the official client. Omits settings at the service's default. */
export function requestBody(
  settings: ChatSettings,
  conversation: ChatCompletionMessageParam[],
): ChatCompletionCreateParamsStreaming {
  const system: ChatCompletionMessageParam[] = settings.system.trim()
    ? [{ role: 'system', content: settings.system }]
    : [];
  const stop = stopSequences(settings.stop);
  return {
    model: settings.model,
    messages: [...system, ...exampleTurns(settings.examples), ...conversation],
    stream: true,
    stream_options: { include_usage: true },
    temperature: settings.temperature,
    ...(settings.topP !== 1 && { top_p: settings.topP }),
    ...(settings.maxTokens !== null && { max_completion_tokens: settings.maxTokens }),
    ...(settings.seed !== null && { seed: settings.seed }),
    ...(settings.reasoning !== 'default' && { reasoning_effort: settings.reasoning }),
    ...(settings.presencePenalty !== 0 && { presence_penalty: settings.presencePenalty }),
    ...(settings.frequencyPenalty !== null && { frequency_penalty: settings.frequencyPenalty }),
    ...(stop.length > 0 && { stop }),
    ...(settings.choices > 1 && { n: settings.choices }),
    ...(settings.logprobs && { logprobs: true, top_logprobs: settings.topLogprobs }),
    ...(settings.logitBias.trim() && {
      logit_bias: json<Record<string, number>>(settings.logitBias, 'Logit bias'),
    }),
    ...responseFormat(settings),
    ...tools(settings),
  };
}

/** @throws SettingsError for a line that is no example */
function exampleTurns(text: string): ChatCompletionMessageParam[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line): ChatCompletionMessageParam[] => {
    const [user = '', assistant = '', ...more] = line.split('=>').map((part) => part.trim());
    if (!user || !assistant || more.length > 0)
      throw new SettingsError(
        `An example is a message, => and its reply on one line. This one is not: ${line}`,
      );
    return [
      { role: 'user', content: user },
      { role: 'assistant', content: assistant },
    ];
  });
}

function stopSequences(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('\\n', '\n').replaceAll('\\t', '\t'));
}

function responseFormat({ format, schema }: ChatSettings): Partial<ChatCompletionCreateParamsStreaming> {
  if (format === 'text') return {};
  if (format === 'json_object') return { response_format: { type: 'json_object' } };
  return {
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'reply',
        strict: true,
        schema: json<Record<string, unknown>>(schema, 'JSON schema'),
      },
    },
  };
}

function tools(settings: ChatSettings): Partial<ChatCompletionCreateParamsStreaming> {
  if (!settings.tools.trim()) return {};
  type Tools = NonNullable<ChatCompletionCreateParamsStreaming['tools']>;
  return { tools: json<Tools>(settings.tools, 'Tools'), tool_choice: settings.toolChoice };
}

function json<T>(text: string, name: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new SettingsError(`${name} is not valid JSON: ${messageOf(error)}`);
  }
}
