import type OpenAI from 'openai';
import type { ChatUsage } from '#jobs';
import type { AnswerFormat } from '../http/answer.ts';
import { EVENT_STREAM, JSON_TYPE } from '../http/response.ts';
import type { ToolName } from '../tools/tool-function.ts';
import type { ChoiceEvent } from '../reply-parts.ts';
import { writeJson } from '#base';
import { openStreams } from './find-response.ts';
import { itemIds, type NextItemId } from './item-references.ts';
import {
  toIncomplete,
  toResponseLogprobs,
  type CustomToolCall,
  type OutputItem,
  type ResponseLogprobs,
  type ResponseObject,
  type ResponseState,
} from './response-object.ts';

export interface ResponseFormatOptions {
  keyId: string;
  isStreamed: boolean;
  /** Whether the request asks to store it. */
  isKept: boolean;
  /** Whether reasoning has a summary, too: the request asks for one. */
  summarizes: boolean;
  usage(): ChatUsage;
  /** The response so far. */
  render(state: ResponseState): ResponseObject;
  /** Stores it if it is kept; resolves to the response as stored. */
  keep(state: ResponseState): Promise<ResponseObject>;
}

/** One response: its typed events, or the whole object. */
export function responseFormat(id: string, options: ResponseFormatOptions) {
  const { keyId, isStreamed, isKept, render } = options;
  const output = new ResponseOutput(itemIds(id), options.summarizes);
  let sequence = 0;
  let isForgotten = false;
  /** Reason why the reply is incomplete, once it has ended. */
  let incomplete: ResponseState['incomplete'] = null;

  const ending = (): 'completed' | 'incomplete' => (incomplete ? 'incomplete' : 'completed');
  const state = (
    status: ResponseState['status'],
    usage: ChatUsage | null = options.usage(),
  ): ResponseState => ({ status, incomplete, output: output.items, usage, error: null });

  function write(events: Iterable<Unnumbered>): string {
    let text = '';
    for (const event of events) if (isStreamed) text += encodeEvent(event, sequence++);
    return text;
  }

  function keep(last: ResponseState): Promise<ResponseObject> {
    // First: what was sent must not be stored after the whole.
    openStreams.delete(id);
    return isForgotten ? Promise.resolve(render(last)) : options.keep(last);
  }

  /** Stores what was sent so far, as a reply that was cut off. */
  const storeSent = (): Promise<unknown> =>
    options.keep({
      ...state('incomplete'),
      output: output.items.map((item) =>
        item.status === 'in_progress' ? { ...item, status: 'incomplete' as const } : item,
      ),
    });

  function begin(): string {
    const current = () => render(state('in_progress', null));
    if (isStreamed && isKept)
      openStreams.set(id, {
        keyId,
        current: () => writeJson(current()),
        storeSent,
        forget() {
          isForgotten = true;
          openStreams.delete(id);
        },
      });
    const response = current();
    return write([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  return {
    type: isStreamed ? EVENT_STREAM : JSON_TYPE,
    event(event: ChoiceEvent): string {
      switch (event.type) {
        case 'accepted':
          return begin();
        case 'text':
          return write(output.text(event.text, toResponseLogprobs(event.logprobs)));
        case 'reasoning':
          return write(output.reasoning(event.text));
        case 'call':
          return write(output.call(event.id, event.tool));
        case 'arguments':
          return write(output.callArguments(event.text));
        case 'finished': {
          incomplete = toIncomplete(event.reason);
          const empty = output.hasAnswer ? '' : write(output.text('', []));
          return empty + write(output.close(ending()));
        }
      }
    },
    async end() {
      const response = await keep(state(ending()));
      if (!isStreamed) return writeJson(response);
      return write([{ type: `response.${ending()}`, response }]) + DONE;
    },
    /**
     * Ends the stream with an error. The SDKs throw on an `error` in an event's data. Without it they treat a
     * partial reply as complete.
     */
    async failure(failure) {
      const begun = sequence ? '' : begin();
      const closed = write(output.close('incomplete'));
      const { message, param, code } = failure.wire;
      // Stored although it failed: clients may refer to the items that they have received.
      const response = await keep({ ...state('failed'), error: { code: 'server_error', message } });
      const failed = write([{ type: 'response.failed', response }]);
      return begun + closed + failed + write([{ type: 'error', message, param, code, ...failure.toJSON() }]);
    },
    abandon() {
      if (openStreams.delete(id)) void storeSent();
    },
  } satisfies AnswerFormat<ChoiceEvent>;
}

/** End of a stream, as Open Responses requires it. */
const DONE = 'data: [DONE]\n\n';

const encodeEvent = (event: Unnumbered, sequence: number): string =>
  `event: ${event.type}\ndata: ${writeJson({ ...event, sequence_number: sequence })}\n\n`;

/**
 * Encodes the events of a response that has ended, each text in one piece. `after`: the last number that the
 * client has, maybe of the live stream, which has an event for each token. The numbers after the last text
 * are larger than all of its, so that no client misses the end.
 */
export function replayResponse(response: ResponseObject, after: number): string {
  const lastText = Array.from(eventsOf(response)).findLastIndex((event) => 'delta' in event);
  const skipped = JSON.stringify(response.output).length;
  let [text, sequence] = ['', 0];
  for (const event of eventsOf(response)) {
    if (lastText >= 0 && sequence === lastText + 1) sequence += skipped;
    if (sequence > after) text += encodeEvent(event, sequence);
    sequence++;
  }
  return text + DONE;
}

function* eventsOf(ended: ResponseObject): Generator<Unnumbered> {
  const started: ResponseObject = {
    ...ended,
    status: 'in_progress',
    error: null,
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  yield { type: 'response.created', response: started };
  yield { type: 'response.in_progress', response: started };
  const ids = ended.output.map(({ id }) => id ?? '');
  const output = new ResponseOutput(() => ids.shift() ?? '', ended.reasoning?.summary != null);
  for (const item of ended.output) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      const kind = item.type === 'function_call' ? 'function' : 'custom';
      yield* output.call(item.call_id, { ...item, kind });
      yield* output.callArguments('input' in item ? item.input : item.arguments);
    } else if (item.type === 'reasoning') {
      for (const part of item.content ?? []) yield* output.reasoning(part.text);
    } else {
      for (const part of item.content)
        if (part.type === 'output_text') yield* output.text(part.text, part.logprobs ?? []);
    }
    yield* output.close(item.status === 'incomplete' ? 'incomplete' : 'completed');
  }
  const status = ended.status as 'completed' | 'incomplete' | 'failed';
  yield { type: `response.${status}`, response: ended };
}

type Event = OpenAI.Responses.ResponseStreamEvent;
/** The client's type of a response has `output_text`, which the client itself computes. */
type Sent<One> = One extends { response: unknown }
  ? Omit<One, 'sequence_number' | 'response'> & { response: ResponseObject }
  : Omit<One, 'sequence_number'>;
/** Event without its sequence number. */
export type Unnumbered = Event extends infer One ? (One extends Event ? Sent<One> : never) : never;

/** Item that is being written, and the part with its text. */
interface OpenReasoning {
  type: 'reasoning';
  item: OpenAI.Responses.ResponseReasoningItem;
  part: OpenAI.Responses.ResponseReasoningItem.Content;
  summary: OpenAI.Responses.ResponseReasoningItem.Summary | null;
}
interface OpenMessage {
  type: 'message';
  item: OpenAI.Responses.ResponseOutputMessage;
  part: OpenAI.Responses.ResponseOutputText;
}
type OpenCall = { type: 'function_call'; item: OpenAI.Responses.ResponseFunctionToolCall };
type OpenCustomCall = { type: 'custom_tool_call'; item: CustomToolCall };
type Open = OpenReasoning | OpenMessage | OpenCall | OpenCustomCall;

/** Output items of one response while they are written, and the events that report them. */
class ResponseOutput {
  readonly items: OutputItem[] = [];
  readonly #nextId: NextItemId;
  readonly #summarizes: boolean;
  /** Item that is being written; null: none has begun, or the last has ended. */
  #open: Open | null = null;

  constructor(nextId: NextItemId, summarizes: boolean) {
    this.#nextId = nextId;
    this.#summarizes = summarizes;
  }

  /** Whether the output has anything other than reasoning. */
  get hasAnswer(): boolean {
    return this.items.some(({ type }) => type !== 'reasoning');
  }

  /**
   * Sends the whole reasoning, as servers of open models do. Its summary is the same text, for clients that
   * read nothing else.
   */
  *reasoning(delta: string): Generator<Unnumbered> {
    const { part, summary } =
      this.#open?.type === 'reasoning'
        ? this.#open
        : yield* this.#begin(newReasoning(this.#nextId('rs'), this.#summarizes));
    part.text += delta;
    yield { type: 'response.reasoning_text.delta', ...this.#place, content_index: 0, delta };
    if (!summary) return;
    summary.text += delta;
    yield { type: 'response.reasoning_summary_text.delta', ...this.#place, summary_index: 0, delta };
  }

  *text(delta: string, logprobs: ResponseLogprobs): Generator<Unnumbered> {
    const { part } =
      this.#open?.type === 'message' ? this.#open : yield* this.#begin(newMessage(this.#nextId('msg')));
    part.text += delta;
    for (const each of logprobs) part.logprobs?.push(each);
    yield { type: 'response.output_text.delta', ...this.#place, content_index: 0, delta, logprobs };
  }

  *call(callId: string, tool: ToolName): Generator<Unnumbered> {
    const id = this.#nextId(tool.kind === 'custom' ? 'ctc' : 'fc');
    yield* this.#begin(tool.kind === 'custom' ? newCustomCall(id, callId, tool) : newCall(id, callId, tool));
  }

  *callArguments(delta: string): Generator<Unnumbered> {
    const open = this.#open;
    if (open?.type === 'function_call') {
      open.item.arguments += delta;
      yield { type: 'response.function_call_arguments.delta', ...this.#place, delta };
    } else if (open?.type === 'custom_tool_call') {
      open.item.input += delta;
      yield { type: 'response.custom_tool_call_input.delta', ...this.#place, delta };
    }
  }

  *close(status: 'completed' | 'incomplete'): Generator<Unnumbered> {
    const open = this.#open;
    if (!open) return;
    if (open.type === 'function_call') {
      const { name, arguments: json } = open.item;
      yield { type: 'response.function_call_arguments.done', ...this.#place, name, arguments: json };
    } else if (open.type === 'custom_tool_call') {
      yield { type: 'response.custom_tool_call_input.done', ...this.#place, input: open.item.input };
    } else {
      const place = { ...this.#place, content_index: 0 };
      const { text } = open.part;
      if (open.type === 'reasoning') yield { type: 'response.reasoning_text.done', ...place, text };
      else {
        const { logprobs = [] } = open.part;
        yield { type: 'response.output_text.done', ...place, text, logprobs };
      }
      yield { type: 'response.content_part.done', ...place, part: open.part };
      if (open.type === 'reasoning' && open.summary) yield* this.#closeSummary(open.summary);
    }
    open.item.status = status;
    yield { type: 'response.output_item.done', output_index: this.#index, item: open.item };
    this.#open = null;
  }

  *#closeSummary(part: OpenAI.Responses.ResponseReasoningItem.Summary): Generator<Unnumbered> {
    const place = { ...this.#place, summary_index: 0 };
    yield { type: 'response.reasoning_summary_text.done', ...place, text: part.text };
    yield { type: 'response.reasoning_summary_part.done', ...place, part };
  }

  get #index(): number {
    return this.items.length - 1;
  }

  get #place(): { item_id: string; output_index: number } {
    return { item_id: this.#open?.item.id ?? '', output_index: this.#index };
  }

  *#begin<Next extends Open>(next: Next): Generator<Unnumbered, Next> {
    yield* this.close('completed');
    this.#open = next;
    const { item } = next;
    this.items.push(item);
    const added = {
      ...item,
      ...('content' in item && { content: [] }),
      ...('summary' in item && { summary: [] }),
    };
    yield { type: 'response.output_item.added', output_index: this.#index, item: added };
    if ('part' in next) {
      const part = { ...next.part };
      yield { type: 'response.content_part.added', ...this.#place, content_index: 0, part };
    }
    if ('summary' in next && next.summary) {
      const part = { ...next.summary };
      yield { type: 'response.reasoning_summary_part.added', ...this.#place, summary_index: 0, part };
    }
    return next;
  }
}

const status = 'in_progress';

function newReasoning(id: string, summarizes: boolean): OpenReasoning {
  const part: OpenReasoning['part'] = { type: 'reasoning_text', text: '' };
  const summary: OpenReasoning['summary'] = summarizes ? { type: 'summary_text', text: '' } : null;
  const type = 'reasoning';
  const item: OpenReasoning['item'] = {
    id,
    type,
    summary: summary ? [summary] : [],
    content: [part],
    status,
  };
  return { type, item, part, summary };
}

function newMessage(id: string): OpenMessage {
  const part: OpenMessage['part'] = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  return { type: 'message', item: { id, type: 'message', role: 'assistant', status, content: [part] }, part };
}

function newCall(id: string, callId: string, tool: ToolName): OpenCall {
  const type = 'function_call';
  return { type, item: { id, type, call_id: callId, ...named(tool), arguments: '', status } };
}

function newCustomCall(id: string, callId: string, tool: ToolName): OpenCustomCall {
  const type = 'custom_tool_call';
  return { type, item: { id, type, call_id: callId, ...named(tool), input: '', status } };
}

const named = ({ name, namespace }: ToolName) => ({ name, ...(namespace !== undefined && { namespace }) });
