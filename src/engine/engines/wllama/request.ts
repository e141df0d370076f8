import type { ChatJob, ChatMessage, Constraint, Sampling } from '../../../protocol/job.ts';

export interface CompletionRequest {
  /** In llama.cpp's server's own names. */
  fields: Record<string, unknown>;
  /** What the reply's text will start with, though it is not new: the end of the prompt, continued. */
  echo: string;
}

/** A job as llama.cpp's server wants it. */
export function completionRequest(job: ChatJob): CompletionRequest {
  const { input, sampling, constraint, maxTokens, topLogprobs } = job;
  const fields = {
    ...samplers(sampling),
    ...(constraint && constrain(constraint)),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    // It takes 0 for none at all; the one too many is cut when the chunk is read.
    ...(topLogprobs !== undefined && { n_probs: Math.max(1, topLogprobs) }),
    cache_prompt: true,
    return_progress: true,
    timings_per_token: true,
  };
  if ('prompt' in input) {
    return { fields: { ...fields, prompt: input.prompt + (job.resume?.text ?? '') }, echo: '' };
  }
  const messages = withResume(input.messages, job.resume?.text);
  const last = messages.at(-1);
  return {
    fields: { ...fields, messages: messages.map(render) },
    echo: last?.role === 'assistant' && !last.toolCalls ? last.content : '',
  };
}

/** OpenAI's defaults: everything that llama.cpp does beyond them is turned off. */
function samplers(sampling: Sampling): Record<string, unknown> {
  return {
    samplers: ['penalties', 'temperature', 'top_p'],
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: 0,
    min_p: 0,
    repeat_penalty: 1,
    // The whole reply. llama.cpp's own word for that, -1, makes this build fail.
    repeat_last_n: 8192,
    presence_penalty: sampling.presencePenalty ?? 0,
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    ...(sampling.seed !== undefined && { seed: seed32(sampling.seed) }),
    ...(sampling.logitBias && {
      logit_bias: Object.entries(sampling.logitBias).map(([token, bias]) => [Number(token), bias]),
    }),
  };
}

/** OpenAI's seeds are 64 bits wide, llama.cpp's 32, of which the highest means a random one. */
function seed32(seed: number): number {
  return ((seed % 0xffffffff) + 0xffffffff) % 0xffffffff;
}

function constrain(constraint: Constraint): Record<string, unknown> {
  switch (constraint.kind) {
    case 'json_object':
      return { json_schema: { type: 'object' } };
    case 'json_schema':
      return { json_schema: constraint.schema };
    case 'grammar':
      return { grammar: constraint.gbnf };
  }
}

/** A partial reply goes on the end; two assistant messages there would be refused. */
function withResume(messages: ChatMessage[], partial: string | undefined): ChatMessage[] {
  if (!partial) return messages;
  const last = messages.at(-1);
  if (last?.role === 'assistant' && !last.toolCalls) {
    return [...messages.slice(0, -1), { ...last, content: last.content + partial }];
  }
  return [...messages, { role: 'assistant', content: partial }];
}

/**
 * Templates of small models know no tools and would leave calls and results out: both are put into the text, in the
 * notation that most tool-calling models were trained on.
 */
function render(message: ChatMessage): { role: string; content: string } {
  switch (message.role) {
    case 'tool':
      return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` };
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(
        ({ name, arguments: args }) =>
          `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`,
      );
      return { role: 'assistant', content: [message.content, ...calls].filter(Boolean).join('\n') };
    }
    default:
      return { role: message.role, content: message.content };
  }
}
