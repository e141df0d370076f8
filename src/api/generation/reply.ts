import type { ChatJob } from '../../protocol/job.ts';
import type { EngineEvent } from '../service-dependencies.ts';
import { serverError } from '../service-error.ts';
import { CallReader, CallOrTextReader } from '../tools/call-reader.ts';
import { callConstraint } from '../tools/call-schema.ts';
import { toolCallPrefixes } from '../tools/call-prompt.ts';
import type { GenerationRun } from './admission.ts';
import { toChatJob, type Generation } from './generation.ts';
import type { FinishReason, ReplyEvent, ReplyPart, ReplyReader } from '../reply-event.ts';
import { TextReader } from '../text-reader.ts';

/** One choice: its jobs, and what the engine's events mean to the client. */
export class Reply {
  job: ChatJob;
  /** Why the present job is over; `call`: text has begun a call. */
  ended: FinishReason | 'call' | null = null;
  readonly #run: GenerationRun;
  readonly #index: number;
  #reader: ReplyReader;
  #tokens = 0;
  #thoughts = '';
  /** Of the job before a call; null: the present job is the first. */
  #textTokens: number | null = null;

  constructor(run: GenerationRun, index: number) {
    this.#run = run;
    this.#index = index;
    this.job = toChatJob(run.generation, run.model, index);
    this.#reader = readerFor(run.generation);
  }

  read(event: EngineEvent): ReplyEvent[] {
    const { counter, call } = this.#run;
    const index = this.#index;
    switch (event.type) {
      case 'waiting':
        call.servedBy = event.servedBy ?? call.servedBy;
        return [{ index, ...event }];
      case 'accepted':
        if (this.#textTokens !== null) return [];
        counter.accepted(index, event.accepted);
        call.servedBy = event.accepted.fingerprint;
        call.trace?.accepted(call.servedBy);
        return [{ index, ...event }];
      case 'delta': {
        const { text, tokens, isReasoning = false, logprobs } = event.delta;
        this.#tokens += tokens;
        counter.generated(index, tokens, isReasoning);
        if (isReasoning) return this.#think(text);
        const parts = this.#reader.push(text, logprobs);
        this.ended = this.#reader.ended;
        return this.#toEvents(parts);
      }
      case 'done':
        counter.done(index, event.usage, event.timings, this.#textTokens ?? 0);
        this.ended = this.#reader.finishReason(event.finishReason);
        return this.#toEvents(this.#reader.flush());
    }
  }

  /** Null: text has begun a call, and `job` is now the one that generates it in its form. @throws ServiceError */
  finish(): FinishReason | null {
    if (this.ended === null) {
      const message = 'The engine ended before the reply was complete. Send the request again.';
      throw serverError('engine_lost', message);
    }
    const { tools } = this.#run.generation;
    if (this.ended !== 'call' || !tools) return this.ended === 'call' ? 'stop' : this.ended;
    const { topLogprobs: _, maxTokens, ...job } = this.job;
    const left = maxTokens === undefined ? {} : { maxTokens: maxTokens - this.#tokens };
    if (left.maxTokens !== undefined && left.maxTokens < 1) return 'length';
    const thoughts = this.#thoughts === '' ? {} : { thoughts: { text: this.#thoughts, ended: true } };
    this.job = { ...job, ...left, ...thoughts, constraint: callConstraint(tools) };
    this.#textTokens = this.#tokens;
    this.#reader = new CallReader();
    this.ended = null;
    return null;
  }

  /** Stop sequences and calls are looked for in the answer alone. */
  #think(text: string): ReplyEvent[] {
    if (text === '') return [];
    this.#thoughts += text;
    return this.#toEvents([{ type: 'reasoning', text }]);
  }

  #toEvents(parts: ReplyPart[]): ReplyEvent[] {
    const index = this.#index;
    if (index === 0) for (const part of parts) this.#run.call.trace?.part(part);
    return parts.map((part) => ({ index, ...part }));
  }
}

function readerFor({ tools, constraint, stop }: Generation): ReplyReader {
  if (!tools) return new TextReader(stop);
  if (tools.mustCall) return new CallReader();
  return constraint ? new CallOrTextReader(stop) : new TextReader(stop, toolCallPrefixes(tools));
}
