import type OpenAI from 'openai';
import type { TokenLogprob } from '../../protocol/job.ts';
import { newItemId } from './response-items.ts';
import { toResponseLogprobs, type OutputItem } from './response-object.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
/** An event, without the number that all of one stream are counted by. */
export type Unnumbered = Event extends infer One
  ? One extends Event
    ? Omit<One, 'sequence_number'>
    : never
  : never;
type Message = OpenAI.Responses.ResponseOutputMessage;
type Part = OpenAI.Responses.ResponseOutputText;
type Reasoning = OpenAI.Responses.ResponseReasoningItem;

/** The output items of one response as they grow, and the events that tell of it. */
export class ResponseOutput {
  readonly items: OutputItem[] = [];
  /** The item that still grows; null: none has begun, or the last has ended. */
  #open: OutputItem | null = null;

  /** Anything beside thoughts. */
  get hasAnswer(): boolean {
    return this.items.some(({ type }) => type !== 'reasoning');
  }

  /** As open models' servers send thoughts: their whole text, and no summary of it. */
  *reasoning(delta: string): Generator<Unnumbered> {
    const item = yield* this.#reasoning();
    const part = thoughtsOf(item);
    part.text += delta;
    const place = { item_id: item.id, output_index: this.#index, content_index: 0 };
    yield { type: 'response.reasoning_text.delta', ...place, delta };
  }

  *text(delta: string, logprobs: readonly TokenLogprob[]): Generator<Unnumbered> {
    const message = yield* this.#message();
    const part = partOf(message);
    part.text += delta;
    const shown = toResponseLogprobs(logprobs);
    if (shown.length > 0) part.logprobs = [...(part.logprobs ?? []), ...shown];
    const place = { item_id: message.id, output_index: this.#index, content_index: 0 };
    yield { type: 'response.output_text.delta', ...place, delta, logprobs: shown };
  }

  *call(callId: string, name: string): Generator<Unnumbered> {
    yield* this.close('completed');
    const item = {
      id: newItemId('fc'),
      type: 'function_call' as const,
      call_id: callId,
      name,
      arguments: '',
    };
    yield* this.#begin({ ...item, status: 'in_progress' });
  }

  *callArguments(delta: string): Generator<Unnumbered> {
    const item = this.#open;
    if (item?.type !== 'function_call') return;
    item.arguments += delta;
    const place = { item_id: item.id ?? '', output_index: this.#index };
    yield { type: 'response.function_call_arguments.delta', ...place, delta };
  }

  *close(status: 'completed' | 'incomplete'): Generator<Unnumbered> {
    const item = this.#open;
    if (!item) return;
    const place = { item_id: item.id ?? '', output_index: this.#index };
    if (item.type === 'function_call') {
      const { name, arguments: json } = item;
      yield { type: 'response.function_call_arguments.done', ...place, name, arguments: json };
    } else if (item.type === 'reasoning') {
      const part = thoughtsOf(item);
      yield { type: 'response.reasoning_text.done', ...place, content_index: 0, text: part.text };
      yield { type: 'response.content_part.done', ...place, content_index: 0, part };
    } else {
      const part = partOf(item);
      const { text, logprobs = [] } = part;
      yield { type: 'response.output_text.done', ...place, content_index: 0, text, logprobs };
      yield { type: 'response.content_part.done', ...place, content_index: 0, part };
    }
    item.status = status;
    yield { type: 'response.output_item.done', output_index: this.#index, item };
    this.#open = null;
  }

  get #index(): number {
    return this.items.length - 1;
  }

  *#reasoning(): Generator<Unnumbered, Reasoning> {
    if (this.#open?.type === 'reasoning') return this.#open;
    yield* this.close('completed');
    const item: Reasoning = {
      id: newItemId('rs'),
      type: 'reasoning',
      summary: [],
      content: [],
      status: 'in_progress',
    };
    yield* this.#begin(item);
    const part = { type: 'reasoning_text' as const, text: '' };
    item.content?.push(part);
    const place = { item_id: item.id, output_index: this.#index, content_index: 0 };
    yield { type: 'response.content_part.added', ...place, part: { ...part } };
    return item;
  }

  *#message(): Generator<Unnumbered, Message> {
    if (this.#open?.type === 'message') return this.#open;
    yield* this.close('completed');
    const item: Message = {
      id: newItemId('msg'),
      type: 'message',
      role: 'assistant',
      status: 'in_progress',
      content: [],
    };
    yield* this.#begin(item);
    const part: Part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    item.content.push(part);
    const place = { item_id: item.id, output_index: this.#index, content_index: 0 };
    yield { type: 'response.content_part.added', ...place, part: { ...part } };
    return item;
  }

  *#begin(item: OutputItem): Generator<Unnumbered> {
    this.#open = item;
    this.items.push(item);
    const added = 'content' in item ? { ...item, content: [] } : { ...item };
    yield { type: 'response.output_item.added', output_index: this.#index, item: added };
  }
}

function thoughtsOf({ content }: Reasoning) {
  const part = content?.[0];
  if (!part) throw new Error('a reasoning item has its text from the beginning');
  return part;
}

function partOf(message: Message): Part {
  const [part] = message.content;
  if (part?.type !== 'output_text') throw new Error('a message has its text from the beginning');
  return part;
}
