import type {
  ChatCompletionMessageParam,
  ChatCompletionRequestStreaming,
  CompletionCreateParamsStreaming,
} from '@mlc-ai/web-llm';
import { engineFields, foldSeed, grammarOf, type ChatJob, type ChatMessage } from '#jobs';
import { invalidField, requestError } from '#base';
import { withToolCalls, refuseUnknownTokens, type ClientText } from '#chat-template';
import type { MlcChatConfig } from './web-llm-files.ts';

/** A job as a request to web-llm. */
export interface WebLlmRequest {
  input: { chat: ChatCompletionRequestStreaming } | { completion: CompletionCreateParamsStreaming };
  /** Text that the reply starts with. It is neither generated nor sent again. */
  replyStart: string;
}

/** Maximum number of alternatives per token that web-llm supports. */
const MAX_TOP_LOGPROBS = 5;

/** Minimum `top_p`, as web-llm rejects 0. With this value it picks the most probable token. */
const MIN_TOP_P = 1e-5;

/** Modulus of web-llm's random numbers. A negative seed would make every later request fail. */
const SEEDS = 2 ** 31 - 1;

export function toWebLlmRequest(
  job: ChatJob,
  config: MlcChatConfig,
  clientText: ClientText,
  replyPrefix = '',
): WebLlmRequest {
  const common = sampling(job, config);
  const partial = job.resume?.text ?? '';
  if ('prompt' in job.input) {
    if (job.input.prompt === '') throw invalidField('prompt', 'must not be empty for this model');
    if (job.constraint) {
      const message = 'This model cannot constrain a raw completion: use chat completions.';
      throw requestError(400, message, null, 'response_format');
    }
    const prompt = clientText.append(job.input.prompt, partial);
    return { input: { completion: { ...common, prompt } }, replyStart: '' };
  }
  const { messages, replyStart } = arrange(job.input.messages, config, clientText);
  const format = job.constraint && { type: 'grammar' as const, grammar: toEbnf(grammarOf(job.constraint)) };
  return {
    input: { chat: { ...common, messages, ...(format && { response_format: format }) } },
    replyStart: clientText.append(replyPrefix, replyStart + partial),
  };
}

/** Sets every parameter: web-llm fills in missing ones from the model's configuration. */
function sampling(job: ChatJob, config: MlcChatConfig) {
  refuseUnknownTokens(job.sampling, config.vocab_size);
  const top = job.topLogprobs;
  const greedy = job.sampling.temperature === 0;
  if (top !== undefined && top > MAX_TOP_LOGPROBS) {
    const message = `This model gives at most ${MAX_TOP_LOGPROBS} top_logprobs.`;
    throw requestError(400, message, 'unsupported_value', 'top_logprobs');
  }
  const fields = engineFields(job.sampling, 'web-llm', {
    // web-llm computes log probabilities after the temperature: at 0 they would be 0 and -Infinity.
    temperature: (temperature) => ({ temperature: greedy && top !== undefined ? 1 : temperature }),
    topP: (topP) => ({ top_p: greedy ? MIN_TOP_P : Math.max(topP, MIN_TOP_P) }),
    seed: (seed) => ({ seed: foldSeed(seed, SEEDS) }),
  });
  return {
    stream: true as const,
    stream_options: { include_usage: true },
    presence_penalty: 0,
    frequency_penalty: 0,
    repetition_penalty: 1,
    ...fields,
    ...(job.maxTokens !== undefined && { max_tokens: job.maxTokens }),
    // With 0 alternatives web-llm keeps no log probabilities.
    ...(top !== undefined && { logprobs: true, top_logprobs: Math.max(1, top) }),
  };
}

/**
 * Converts GBNF (llama.cpp) to xgrammar's EBNF, which lacks `.` (any character). Strings, character
 * classes and comments stay unchanged.
 */
const toEbnf = (gbnf: string): string =>
  gbnf.replace(/"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\n]*|\./g, (part) =>
    part === '.' ? '[\\u0000-\\U0010FFFF]' : part,
  );

/** Arranges messages as web-llm requires: one system message at the front, and a user or tool message at the end. */
function arrange(messages: ChatMessage[], config: MlcChatConfig, clientText: ClientText) {
  const { roles, role_templates: templates } = config.conv_template;
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const turns = messages.filter(({ role }) => role !== 'system');
  // A final assistant message is a reply to continue.
  const last = turns.at(-1);
  const isBegun = last?.role === 'assistant' && !last.toolCalls?.length;
  const replyStart = isBegun ? (turns.pop()?.content ?? '') : '';

  const plain = (text: string): string => clientText.append('', text);
  const literal = (role: string, text: string): string =>
    templates?.[role] === undefined ? plain(text) : escape(plain(text));
  const arranged: ChatCompletionMessageParam[] = turns.map((message) => {
    const text =
      'toolCalls' in message && message.toolCalls
        ? withToolCalls(message.content, message.toolCalls)
        : message.content;
    // `name` is dropped: web-llm would write it in place of the role's marker.
    if (message.role === 'assistant') return { role: 'assistant', content: literal('assistant', text) };
    if (message.role === 'tool' && 'tool' in roles)
      return { role: 'tool', content: literal('tool', text), tool_call_id: message.toolCallId };
    return { role: 'user', content: literal('user', text) };
  });
  const end = arranged.at(-1)?.role;
  if (end !== 'user' && end !== 'tool') arranged.push({ role: 'user', content: '' });
  // Without a system message, web-llm adds that of the model's configuration.
  if (system.length > 0) arranged.unshift({ role: 'system', content: escape(plain(system.join('\n\n'))) });
  return { messages: arranged, replyStart };
}

/** Escapes `$`: web-llm fills templates with `String.replace`, which interprets `$$` and `$&`. */
const escape = (text: string): string => text.replaceAll('$', '$$$$');
