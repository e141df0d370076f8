import type { ChatMessage, Constraint, Reasoning } from '#jobs';
import { toIncludeUsage, toJsonConstraint, toSampling, type Generation } from '../generation/generation.ts';
import { answerInputTokens } from '../generation/input-tokens.ts';
import { admitGeneration } from '../generation/admission.ts';
import { answerCompletion } from '../generation/choices.ts';
import type { Exchange } from '../http/exchange.ts';
import { conflicting, invalidField, unsupported, omitNulls } from '#base';
import { toContent, toText } from '../body/message-content.ts';
import { readCallableTools } from '../tools/callable-tools.ts';
import { toCall, toCustomCall } from '../tools/earlier-calls.ts';
import { chatWriter } from './chat-objects.ts';
import type { ChatBody, MessageBody } from './chat-schema.ts';

/** POST /v1/chat/completions */
export async function createChatCompletion(exchange: Exchange, request: ChatBody): Promise<Response> {
  const generation = toGeneration(exchange, request);
  const includeUsage = toIncludeUsage(request);
  const run = await admitGeneration(exchange, generation, request.stream === true);
  const writer = chatWriter(generation, request.functions != null);
  return answerCompletion(run, writer, includeUsage);
}

/** POST /v1/chat/completions/input_tokens */
export const countChatTokens = (exchange: Exchange, request: ChatBody): Promise<Response> =>
  answerInputTokens(exchange, toGeneration(exchange, request));

/** @throws ServiceError 400 that names the field. */
function toGeneration({ warnings }: Exchange, request: ChatBody): Generation {
  if (request.modalities?.includes('audio'))
    throw unsupported('modalities', 'must be ["text"]: the models generate only text');
  const { tools: list, functions, tool_choice: choice, function_call: call } = request;
  const hasTools = (list ?? functions ?? choice ?? call) != null;
  const tools = hasTools ? readCallableTools(request, warnings) : null;
  const messages = toChatMessages(request.messages);
  const generation: Generation = {
    model: request.model,
    inputs: [{ messages }],
    choices: request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: toMaxTokens(request),
    constraint: toConstraint(request),
    topLogprobs: toTopLogprobs(request),
    stop: [request.stop ?? []].flat().map((each) => each.toWellFormed()),
    tools,
    reasoning: toReasoning(request),
    params: { messages: 'messages', responseFormat: 'response_format' },
  };
  return request.continue_final_message ? continueFinalMessage(generation) : generation;
}

/**
 * Makes the last message the beginning of the reply (`continue_final_message`, as in vLLM).
 * @throws ServiceError 400
 */
function continueFinalMessage(generation: Generation): Generation {
  const { inputs, tools } = generation;
  const [input] = inputs;
  const messages = input && 'messages' in input ? input.messages : [];
  const last = messages.at(-1);
  if (messages.length < 2 || last?.role !== 'assistant' || last.toolCalls) {
    const rule =
      'must end with an assistant message, without tool calls, after another message where `continue_final_message` is true';
    throw invalidField('messages', rule);
  }
  if (tools?.mustCall)
    throw conflicting('continue_final_message', 'continues text: let `tool_choice` be "auto" or "none"');
  return { ...generation, inputs: [{ messages: messages.slice(0, -1) }], partial: last.content };
}

function toMaxTokens(request: ChatBody): number | null {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  if (older != null && newer != null)
    throw conflicting('max_tokens', 'and `max_completion_tokens` mean the same: give one of them');
  return newer ?? older ?? null;
}

function toConstraint({ response_format: format, ...request }: ChatBody): Constraint | null {
  const others: [at: string, schema: Record<string, unknown> | null | undefined][] = [
    ['guided_json', request.guided_json],
    ['json_schema', request.json_schema],
    ['structured_outputs.json', request.structured_outputs?.json],
  ];
  const [other, second] = others.filter(([, schema]) => schema != null);
  if (other) {
    const [at, schema] = other;
    if (second || (format != null && format.type !== 'text'))
      throw conflicting(at, 'conflicts with another constraint on the output: set only one');
    // vLLM, too, refuses a schema that it cannot enforce.
    return toJsonConstraint({ type: 'json_object', schema }, at, 'keywords');
  }
  if (format?.type !== 'json_schema') return toJsonConstraint(format, 'response_format.schema');
  return toJsonConstraint(
    { type: 'json_schema', ...format.json_schema },
    'response_format.json_schema.schema',
  );
}

function toReasoning({ reasoning_effort: effort, chat_template_kwargs: kwargs }: ChatBody): Reasoning | null {
  const enableThinking = kwargs?.enable_thinking;
  if (effort != null && enableThinking != null && enableThinking === (effort === 'none')) {
    const rule = `is "${effort}", which contradicts \`chat_template_kwargs.enable_thinking\`: give one of them`;
    throw conflicting('reasoning_effort', rule);
  }
  const reasoning = omitNulls({ effort, enableThinking });
  return Object.keys(reasoning).length === 0 ? null : reasoning;
}

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatBody): number | null {
  if (logprobs) return top ?? 0;
  if (top) throw conflicting('top_logprobs', 'needs `logprobs`: set `logprobs` to true');
  return null;
}

/**
 * The conversation as engines take it: parts joined, `developer` as `system`, the order of tool calls
 * checked.
 * @throws ServiceError 400
 */
function toChatMessages(messages: readonly MessageBody[]): ChatMessage[] {
  const calls = new Set<string>();
  /** Id of the last legacy call of each function. */
  const legacyIds = new Map<string, string>();
  return messages.map((message, index): ChatMessage => {
    const at = `messages[${index}]`;
    switch (message.role) {
      case 'user':
        return { role: 'user', ...toContent(message.content, `${at}.content`, 'text'), ...nameOf(message) };
      case 'system':
      case 'developer':
        return {
          role: 'system',
          content: toText(message.content, `${at}.content`, 'text'),
          ...nameOf(message),
        };
      case 'tool': {
        const { tool_call_id: toolCallId } = message;
        if (!calls.has(toolCallId)) {
          const rule = 'must be the id of a tool call in an assistant message before this one';
          throw invalidField(`${at}.tool_call_id`, rule);
        }
        return { role: 'tool', content: toText(message.content, `${at}.content`, 'text'), toolCallId };
      }
      case 'function': {
        const toolCallId = legacyIds.get(message.name);
        if (toolCallId === undefined) {
          const rule = 'must be the function of a `function_call` in an assistant message before this one';
          throw invalidField(`${at}.name`, rule);
        }
        return { role: 'tool', content: (message.content ?? '').toWellFormed(), toolCallId };
      }
      case 'assistant': {
        const legacyId = `function_call_${index}`;
        const assistant = toAssistant(message, at, legacyId);
        for (const { id } of assistant.toolCalls ?? []) calls.add(id);
        if (message.function_call) legacyIds.set(message.function_call.name, legacyId);
        return assistant;
      }
    }
  });
}

type Assistant<Message> = Extract<Message, { role: 'assistant' }>;

function toAssistant(message: Assistant<MessageBody>, at: string, legacyId: string): Assistant<ChatMessage> {
  const { function_call: legacy, refusal } = message;
  const toolCalls = (message.tool_calls ?? []).map((call) =>
    call.type === 'custom'
      ? toCustomCall(call.id, { ...call, ...call.custom })
      : toCall(call.id, { ...call, ...call.function }),
  );
  if (legacy) toolCalls.push(toCall(legacyId, legacy));
  if (message.content == null && refusal == null && toolCalls.length === 0) {
    const rule =
      'is required in an assistant message without `tool_calls`: it must be a string or text parts';
    throw invalidField(`${at}.content`, rule, 'missing_required_parameter');
  }
  const content = toText(message.content ?? refusal ?? '', `${at}.content`, 'text');
  return { role: 'assistant', content, ...nameOf(message), ...(toolCalls.length > 0 && { toolCalls }) };
}

const nameOf = ({ name }: { name?: string | null | undefined }) => omitNulls({ name });
