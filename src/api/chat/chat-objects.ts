import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob, ToolCall } from '../../protocol/job.ts';
import type { AnswerHead, ChoiceResult } from '../generation/answer-format.ts';

/** OpenAI's shapes, checked against the types of OpenAI's client library. */

export function toUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens = 0 }: ChatUsage) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  } satisfies OpenAI.CompletionUsage;
}

export function toLogprobs(logprobs: readonly TokenLogprob[]) {
  return {
    content: logprobs.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top })),
    refusal: null,
  } satisfies OpenAI.ChatCompletion.Choice.Logprobs;
}

export function toChatCompletion(head: AnswerHead, choices: readonly ChoiceResult[], usage: ChatUsage) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.fingerprint,
    choices: choices.map(({ reasoning, text, calls, logprobs, reason }, index) => ({
      index,
      message: {
        role: 'assistant' as const,
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(calls.length > 0 ? { tool_calls: calls.map(toToolCall) } : {}),
      },
      logprobs: logprobs && toLogprobs(logprobs),
      finish_reason: reason,
    })),
    usage: toUsage(usage),
  } satisfies OpenAI.ChatCompletion;
}

const toToolCall = ({ id, name, arguments: json }: ToolCall) =>
  ({
    id,
    type: 'function',
    function: { name, arguments: json },
  }) satisfies OpenAI.ChatCompletionMessageFunctionToolCall;
