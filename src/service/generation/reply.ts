import type { Accepted, ChatEvent, ChatJob, TokenLogprob } from '../../protocol/job.ts';
import { LogprobQueue } from './logprob-queue.ts';
import { ServiceError } from '../service-error.ts';
import { StopSequences } from './stop-sequences.ts';
import type { UsageCounter } from './usage-counter.ts';
import { toolCallPrefixes } from '../tools/tool-call-prefixes.ts';
import { callConstraint } from '../tools/call-schema.ts';
import { CallReader, type CallPart } from '../tools/call-reader.ts';
import type { ToolUse } from '../tools/tool-use.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls';

/** Where one choice goes, as it comes. A promise is waited for before the engine is asked for more. */
export interface ReplySink {
  accepted(accepted: Accepted): void;
  text(text: string, logprobs: TokenLogprob[]): void | Promise<void>;
  call(part: CallPart): void | Promise<void>;
}

/** How a job reaches the engine, each time under another id. */
export type Ask = (job: ChatJob, again: boolean) => AsyncIterable<ChatEvent>;

export interface ReplyOptions {
  job: ChatJob;
  stop: readonly string[];
  tools: ToolUse | null;
  ask: Ask;
  signal: AbortSignal;
  sink: ReplySink;
  counter: UsageCounter;
  /** Of the choice. */
  index: number;
}

/** One choice, from the engine's events to text and calls. */
export class Reply {
  readonly #options: ReplyOptions;
  /** Of a job before the present one. */
  #earlierTokens = 0;
  #tokens = 0;

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  async run(): Promise<FinishReason> {
    const { job, tools } = this.#options;
    if (!tools) return this.#readText(job);
    if (job.constraint) return this.#readCalls(job, !tools.mustCall);
    return this.#readText(job, tools);
  }

  /** Words, in which a call may begin: the reply is then regenerated from there, held to the form of calls. */
  async #readText(job: ChatJob, tools: ToolUse | null = null): Promise<FinishReason> {
    const { stop, sink } = this.#options;
    const marks = tools ? toolCallPrefixes(tools) : [];
    const stops = new StopSequences([...stop, ...marks]);
    const logprobs = job.topLogprobs === undefined ? null : new LogprobQueue();
    for await (const event of this.#events(job)) {
      if (event.type === 'delta') {
        const { delta } = event;
        if (logprobs && delta.logprobs) logprobs.push(delta.logprobs);
        const cut = stops.push(delta.text);
        await this.#show(cut.text, logprobs?.take(cut.text, stops.withholds || cut.stop !== null) ?? []);
        // Leaving the loop returns the iterator, which stops the engine.
        if (cut.stop === null) continue;
        if (!tools || stop.includes(cut.stop)) return 'stop';
        break;
      }
      if (event.type === 'done') {
        await this.#show(stops.flush(), logprobs?.rest() ?? []);
        return event.finishReason;
      }
      sink.accepted(event.accepted);
    }
    if (!tools) throw brokenOff();
    return this.#callAfterText(job, tools);
  }

  async #callAfterText(job: ChatJob, tools: ToolUse): Promise<FinishReason> {
    this.#earlierTokens = this.#tokens;
    const next: ChatJob = { ...job, constraint: callConstraint(tools) };
    delete next.topLogprobs;
    if (next.maxTokens !== undefined) next.maxTokens -= this.#tokens;
    if (next.maxTokens !== undefined && next.maxTokens < 1) return 'length';
    return this.#readCalls(next, false, true);
  }

  async #readCalls(job: ChatJob, orText: boolean, again = false): Promise<FinishReason> {
    const { sink, stop } = this.#options;
    const reader = new CallReader();
    const stops = new StopSequences(stop);
    let beginning: string | null = orText ? '' : null;
    let isText = false;
    for await (const event of this.#events(job, again)) {
      if (event.type === 'accepted') {
        if (!again) sink.accepted(event.accepted);
      } else if (event.type === 'done') {
        await this.#show(stops.flush(), []);
        if (event.finishReason === 'length') return 'length';
        return isText ? 'stop' : 'tool_calls';
      } else {
        let { text } = event.delta;
        if (beginning !== null) {
          beginning += text;
          if (beginning.trim() === '') continue;
          isText = !beginning.trimStart().startsWith('[');
          text = beginning;
          beginning = null;
        }
        if (!isText) {
          for (const part of reader.push(text)) await sink.call(part);
          continue;
        }
        const cut = stops.push(text);
        await this.#show(cut.text, event.delta.logprobs ?? []);
        if (cut.stop !== null) return 'stop';
      }
    }
    throw brokenOff();
  }

  async *#events(job: ChatJob, again = false): AsyncGenerator<ChatEvent, void, undefined> {
    const { ask, signal, counter, index } = this.#options;
    for await (const event of ask(job, again)) {
      signal.throwIfAborted();
      if (event.type === 'delta') {
        this.#tokens += event.delta.tokens;
        counter.generated(index, event.delta.tokens);
      } else if (event.type === 'done') {
        counter.done(index, event.usage, event.timings, this.#earlierTokens);
      } else if (!again) counter.accepted(index, event.accepted);
      yield event;
      if (event.type === 'done') return;
    }
    signal.throwIfAborted();
    throw brokenOff();
  }

  async #show(text: string, logprobs: TokenLogprob[]): Promise<void> {
    if (text !== '' || logprobs.length > 0) await this.#options.sink.text(text, logprobs);
  }
}

const brokenOff = (): ServiceError =>
  new ServiceError({
    status: 500,
    type: 'server_error',
    code: 'engine_lost',
    param: null,
    message: 'The engine ended before the reply was complete. Send the request again.',
  });
