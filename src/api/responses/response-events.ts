import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob } from '../../jobs/chat.ts';
import type { ChoiceEvent, StreamEncoder } from '../generation/answers.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import {
  newItemId,
  toResponseLogprobs,
  type OutputItem,
  type ResponseObject,
  type ResponseState,
} from './response-object.ts';

export interface ResponseEventsOptions {
  /** The response so far. */
  render(state: ResponseState): ResponseObject;
  /** Stores it if `store` is true; resolves to the response as stored. */
  keep(state: ResponseState): Promise<ResponseObject>;
}

/** The typed events of one streamed response. */
export class ResponseEvents implements StreamEncoder {
  readonly #options: ResponseEventsOptions;
  readonly #output = new ResponseOutput();
  #sequence = 0;
  #begun = false;
  #status: 'completed' | 'incomplete' = 'completed';

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
  }

  encode(event: ChoiceEvent): string {
    switch (event.type) {
      case 'accepted':
        return this.#begin();
      case 'text':
        return this.#write(this.#output.text(event.text, event.logprobs));
      case 'reasoning':
        return this.#write(this.#output.reasoning(event.text));
      case 'call':
        return this.#write(this.#output.call(event.id, event.name));
      case 'arguments':
        return this.#write(this.#output.callArguments(event.text));
      case 'finished': {
        this.#status = event.reason === 'length' ? 'incomplete' : 'completed';
        const empty = this.#output.hasAnswer ? '' : this.#write(this.#output.text('', []));
        return empty + this.#write(this.#output.close(this.#status));
      }
    }
  }

  async end(usage: ChatUsage): Promise<string> {
    const response = (await this.#options.keep(this.#state(this.#status, usage))) as never;
    return this.#write([{ type: `response.${this.#status}`, response }]);
  }

  /** The SDKs throw on an `error` in an event's data. Without it they treat a partial reply as complete. */
  failure(failure: ServiceError, usage: ChatUsage): string {
    const { message, param, code } = failure.wire;
    const state = { ...this.#state('failed', usage), error: { code: 'server_error' as const, message } };
    const response = this.#options.render(state) as never;
    const begin = this.#begun ? '' : this.#begin();
    const failed = this.#write([{ type: 'response.failed', response }]);
    return begin + failed + this.#write([{ type: 'error', message, param, code, ...failure.toJSON() }]);
  }

  #begin(): string {
    this.#begun = true;
    // The client's types include `output_text`, which the client itself computes.
    const response = this.#options.render(this.#state('in_progress', null)) as never;
    return this.#write([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  #state(status: ResponseState['status'], usage: ChatUsage | null): ResponseState {
    const output: OutputItem[] = this.#output.items;
    return { status, output, usage, error: null };
  }

  #write(events: Iterable<Unnumbered>): string {
    let text = '';
    for (const event of events) {
      text += `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: this.#sequence })}\n\n`;
      this.#sequence++;
    }
    return text;
  }
}

type Event = OpenAI.Responses.ResponseStreamEvent;
/** An event, without the number that all of one stream are counted by. */
export type Unnumbered = Event extends infer One
  ? One extends Event
    ? Omit<One, 'sequence_number'>
    : never
  : never;

/** An item that still grows, and the part of it that has its text. */
interface OpenReasoning {
  type: 'reasoning';
  item: OpenAI.Responses.ResponseReasoningItem;
  part: OpenAI.Responses.ResponseReasoningItem.Content;
}
interface OpenMessage {
  type: 'message';
  item: OpenAI.Responses.ResponseOutputMessage;
  part: OpenAI.Responses.ResponseOutputText;
}
interface OpenCall {
  type: 'function_call';
  item: OpenAI.Responses.ResponseFunctionToolCall;
}
type Open = OpenReasoning | OpenMessage | OpenCall;

/** The output items of one response as they grow, and the events that tell of it. */
export class ResponseOutput {
  readonly items: OutputItem[] = [];
  /** Null: none has begun, or the last has ended. */
  #open: Open | null = null;

  /** Anything beside thoughts. */
  get hasAnswer(): boolean {
    return this.items.some(({ type }) => type !== 'reasoning');
  }

  /** As open models' servers send thoughts: their whole text, and no summary of it. */
  *reasoning(delta: string): Generator<Unnumbered> {
    const { part } = this.#open?.type === 'reasoning' ? this.#open : yield* this.#begin(newReasoning());
    part.text += delta;
    yield { type: 'response.reasoning_text.delta', ...this.#place, content_index: 0, delta };
  }

  *text(delta: string, given: readonly TokenLogprob[]): Generator<Unnumbered> {
    const { part } = this.#open?.type === 'message' ? this.#open : yield* this.#begin(newMessage());
    part.text += delta;
    const logprobs = toResponseLogprobs(given);
    if (logprobs.length > 0) part.logprobs = [...(part.logprobs ?? []), ...logprobs];
    yield { type: 'response.output_text.delta', ...this.#place, content_index: 0, delta, logprobs };
  }

  *call(callId: string, name: string): Generator<Unnumbered> {
    yield* this.#begin(newCall(callId, name));
  }

  *callArguments(delta: string): Generator<Unnumbered> {
    if (this.#open?.type !== 'function_call') return;
    this.#open.item.arguments += delta;
    yield { type: 'response.function_call_arguments.delta', ...this.#place, delta };
  }

  *close(status: 'completed' | 'incomplete'): Generator<Unnumbered> {
    const open = this.#open;
    if (!open) return;
    if (open.type === 'function_call') {
      const { name, arguments: json } = open.item;
      yield { type: 'response.function_call_arguments.done', ...this.#place, name, arguments: json };
    } else {
      const place = { ...this.#place, content_index: 0 };
      const { text } = open.part;
      if (open.type === 'reasoning') yield { type: 'response.reasoning_text.done', ...place, text };
      else {
        const { logprobs = [] } = open.part;
        yield { type: 'response.output_text.done', ...place, text, logprobs };
      }
      yield { type: 'response.content_part.done', ...place, part: open.part };
    }
    open.item.status = status;
    yield { type: 'response.output_item.done', output_index: this.#index, item: open.item };
    this.#open = null;
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
    const added = 'content' in item ? { ...item, content: [] } : { ...item };
    yield { type: 'response.output_item.added', output_index: this.#index, item: added };
    if ('part' in next) {
      const part = { ...next.part };
      yield { type: 'response.content_part.added', ...this.#place, content_index: 0, part };
    }
    return next;
  }
}

const status = 'in_progress';

function newReasoning(): OpenReasoning {
  const part: OpenReasoning['part'] = { type: 'reasoning_text', text: '' };
  const type = 'reasoning';
  return { type, item: { id: newItemId('rs'), type, summary: [], content: [part], status }, part };
}

function newMessage(): OpenMessage {
  const part: OpenMessage['part'] = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const type = 'message';
  return { type, item: { id: newItemId('msg'), type, role: 'assistant', status, content: [part] }, part };
}

function newCall(callId: string, name: string): OpenCall {
  const type = 'function_call';
  return { type, item: { id: newItemId('fc'), type, call_id: callId, name, arguments: '', status } };
}
