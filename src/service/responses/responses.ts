import type { ChatMessage } from '#jobs';
import { answerInputTokens } from '../generation/input-tokens.ts';
import { admitGeneration } from '../generation/admission.ts';
import { answerChoices, answerHead } from '../generation/choices.ts';
import type { Exchange } from '../http/exchange.ts';
import { EVENT_STREAM, JSON_TYPE, jsonResponse, textResponse } from '../http/response.ts';
import type { StoredResponse } from '#protocol';
import { conflicting, invalidField, readJson, requestError, writeJson } from '#base';
import { findResponse, openStream } from './find-response.ts';
import { resolveReferences } from './item-references.ts';
import { replayResponse, responseFormat } from './response-events.ts';
import {
  appendItems,
  toInputItems,
  toResponse,
  type OutputItem,
  type ResponseObject,
  type ResponseState,
} from './response-object.ts';
import type { InputItem, ResponseBody } from './response-schema.ts';
import { toJsonConstraint, toSampling, usedSampling, type Generation } from '../generation/generation.ts';
import { readCallableTools } from '../tools/callable-tools.ts';
import type { MoreTools } from '../tools/given-tools.ts';
import { toCall, toCustomCall } from '../tools/earlier-calls.ts';
import { isKnown } from '../tools/requested-choice.ts';

/** POST /v1/responses */
export async function createResponse(
  exchange: Exchange,
  body: ResponseBody,
  { input }: Record<string, unknown>,
): Promise<Response> {
  const { generation, conversation, raw, more } = await readRequest(exchange, body, input);
  const run = await admitGeneration(exchange, generation, body.stream === true);
  const { temperature, topP } = usedSampling(generation, run.model);
  // The answer repeats the values that were used.
  const request = { ...body, temperature, top_p: topP };
  const wanted = request.store ?? true;

  const head = answerHead(run, 'resp_');
  const keep = async (state: ResponseState): Promise<ResponseObject> => {
    const response = toResponse(head, request, wanted, state);
    if (!wanted) return response;
    const stored: StoredResponse = {
      id: head.id,
      keyId: exchange.admitted.keyId,
      created: exchange.receivedAt,
      response: writeJson(response),
      input: toInputItems(raw, head.id),
      // Tools of other types were refused or warned of, once.
      itemTools: more.map(({ tools }) => tools.filter(isKnown)),
      messages: [...conversation, ...toMessages(state.output)],
    };
    try {
      await exchange.dependencies.responses.put(stored);
      return response;
    } catch {
      // The reply is valid even if it cannot be stored: then `store` is false.
      return toResponse(head, request, false, state);
    }
  };
  const format = responseFormat(head.id, {
    keyId: exchange.admitted.keyId,
    isStreamed: run.isStreamed,
    isKept: wanted,
    summarizes: request.reasoning?.summary != null,
    usage: () => run.meter.total,
    render: (state) => toResponse(head, request, wanted, state),
    keep,
  });
  return answerChoices(run, format);
}

/** POST /v1/responses/input_tokens */
export async function countResponseTokens(
  exchange: Exchange,
  body: ResponseBody,
  { input }: Record<string, unknown>,
): Promise<Response> {
  const { generation } = await readRequest(exchange, body, input);
  return answerInputTokens(exchange, generation);
}

/**
 * Converts a request, with the conversation that it continues. `raw`: its items as the client sent them. `more`: tools in
 * items.
 */
async function readRequest(exchange: Exchange, body: ResponseBody, input: unknown) {
  const before = await earlierResponse(exchange, body.previous_response_id ?? null);
  const { items, raw } = await resolveReferences(exchange, body.input, input);
  const conversation = requireItems(appendItems(before.messages, items));
  const more = [...before.tools, ...toolsOf(items)];
  return { generation: toGeneration(exchange, body, conversation, more), conversation, raw, more };
}

function requireItems(conversation: ChatMessage[]): ChatMessage[] {
  if (conversation.length > 0) return conversation;
  const rule = 'must have at least 1 message or call, or follow a `previous_response_id`';
  throw invalidField('input', rule, 'missing_required_parameter');
}

/** The conversation up to an earlier response, and the tools in its items. */
async function earlierResponse(
  exchange: Exchange,
  id: string | null,
): Promise<{ messages: ChatMessage[]; tools: MoreTools[] }> {
  if (id === null) return { messages: [], tools: [] };
  const earlier = await findResponse(exchange, id);
  if (earlier) {
    // Only `createResponse` writes them.
    const itemTools = earlier.itemTools as MoreTools['tools'][];
    return {
      messages: earlier.messages,
      tools: itemTools.map((tools) => ({ at: 'previous_response_id.tools', tools })),
    };
  }
  const param = 'previous_response_id';
  const rule = 'names no response here. It may be too old, deleted, made without `store`, or another key’s';
  throw invalidField(param, rule, 'previous_response_not_found');
}

/**
 * The reply in the next request's conversation, if it has a text or a call. A call that was cut off is left
 * out.
 */
function toMessages(output: readonly OutputItem[]): ChatMessage[] {
  const texts = output.flatMap((item) =>
    item.type === 'message' ? item.content.map((part) => (part.type === 'output_text' ? part.text : '')) : [],
  );
  const toolCalls = output.flatMap((item) =>
    isCall(item) && item.status !== 'incomplete'
      ? ['input' in item ? toCustomCall(item.call_id, item) : toCall(item.call_id, item)]
      : [],
  );
  if (texts.length + toolCalls.length === 0) return [];
  return [{ role: 'assistant', content: texts.join(''), ...(toolCalls[0] && { toolCalls }) }];
}

/** Tools in the request's items. */
const toolsOf = (items: string | readonly InputItem[]): MoreTools[] =>
  typeof items === 'string'
    ? []
    : items.flatMap((item, index) =>
        'tools' in item ? [{ at: `input[${index}].tools`, tools: item.tools }] : [],
      );

const isCall = (item: OutputItem) => item.type === 'function_call' || item.type === 'custom_tool_call';

/** GET /v1/responses/{id} */
export async function retrieveResponse(exchange: Exchange, id: string): Promise<Response> {
  const open = openStream(exchange, id)?.current();
  const response = open ?? (await requireResponse(exchange, id)).response;
  const query = new URL(exchange.request.url).searchParams;
  const stream = query.get('stream') ?? 'false';
  if (stream !== 'true' && stream !== 'false') throw invalidField('stream', 'must be true or false');
  if (open !== undefined && stream === 'true')
    throw conflicting(
      'stream',
      'must be false while the response is being streamed. Retry when it has ended',
    );
  if (stream === 'false') return textResponse(exchange, response, JSON_TYPE);
  const after = toInteger(query.get('starting_after') ?? '-1');
  if (after === null) throw invalidField('starting_after', 'must be the `sequence_number` of an event');
  // Only `createResponse` writes it.
  const events = replayResponse(readJson(response) as ResponseObject, Math.max(after, -1));
  return textResponse(exchange, events, EVENT_STREAM);
}

/** DELETE /v1/responses/{id} */
export async function deleteResponse(exchange: Exchange, id: string): Promise<Response> {
  await requireResponse(exchange, id);
  openStream(exchange, id)?.forget();
  await exchange.dependencies.responses.delete(id);
  return jsonResponse(exchange, { id, object: 'response', deleted: true });
}

/** Reads an integer of a query; null: it is not a decimal integer, as `0x10` and the empty text. */
const toInteger = (text: string): number | null => (/^-?\d{1,15}$/.test(text) ? Number(text) : null);

/** OpenAI's own page sizes. */
const PAGE = { usual: 20, most: 100 };

/** GET /v1/responses/{id}/input_items: the newest first, as OpenAI's service has it by default. */
export async function listInputItems(exchange: Exchange, id: string): Promise<Response> {
  const { input } = await requireResponse(exchange, id);
  const query = new URL(exchange.request.url).searchParams;
  const limit = toInteger(query.get('limit') ?? String(PAGE.usual));
  if (limit === null || limit < 1 || limit > PAGE.most)
    throw invalidField('limit', `must be an integer from 1 to ${PAGE.most}`);
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be "asc" or "desc"');
  const items = order === 'asc' ? input : input.toReversed();
  const after = query.get('after');
  let start = 0;
  if (after !== null) {
    start = items.findIndex((item) => item['id'] === after) + 1;
    if (start === 0) throw invalidField('after', 'must be the id of an item of this response');
  }
  const data = items.slice(start, start + limit);
  const ids = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
  const page = { object: 'list', data, ...ids, has_more: start + limit < items.length };
  // Schemas and data in items keep their numbers.
  return textResponse(exchange, writeJson(page), JSON_TYPE);
}

/** POST /v1/responses/{id}/cancel: a 400, as for each response of OpenAI's that is not in the background. */
export async function cancelResponse(exchange: Exchange, id: string): Promise<never> {
  if (!openStream(exchange, id)) await requireResponse(exchange, id);
  const message =
    'Only background responses can be cancelled, and they are not supported. Abort the request.';
  throw requestError(400, message);
}

async function requireResponse(exchange: Exchange, id: string): Promise<StoredResponse> {
  const stored = await findResponse(exchange, id);
  if (stored) return stored;
  const message = `There is no response ${JSON.stringify(id.slice(0, 80))} here. It may be too old, deleted, made without \`store\`, or another key’s.`;
  throw requestError(404, message);
}

const LOGPROBS = 'message.output_text.logprobs';

/**
 * Converts a request. `conversation`: messages including this request's input. `more`: tools in items.
 * @throws ServiceError 400
 */
function toGeneration(
  exchange: Exchange,
  request: ResponseBody,
  conversation: ChatMessage[],
  more: readonly MoreTools[],
): Generation {
  const { instructions, text, include, reasoning, top_logprobs: top } = request;
  const tools = readCallableTools(request, exchange.warnings, more);
  const messages: ChatMessage[] =
    instructions == null
      ? conversation
      : [{ role: 'system', content: instructions.toWellFormed() }, ...conversation];
  return {
    model: request.model,
    inputs: [{ messages }],
    choices: 1,
    sampling: toSampling(request),
    maxTokens: request.max_output_tokens ?? null,
    constraint: toJsonConstraint(text?.format, 'text.format.schema'),
    topLogprobs: include?.includes(LOGPROBS) || top ? (top ?? 0) : null,
    stop: [request.stop ?? []].flat().map((each) => each.toWellFormed()),
    tools,
    reasoning: reasoning?.effort == null ? null : { effort: reasoning.effort },
    truncate: request.truncation === 'auto',
    params: { messages: 'input', responseFormat: 'text.format' },
  };
}
