import { delay, engineLost, ServiceError } from '#base';
import type { ChatJob } from '#jobs';
import type { WaitingStage, EngineClient, EngineEvent, EngineRequest } from '#protocol';
import { mayBeComputed, type GenerationRun } from './admission.ts';
import { choiceCount, toChatJob, type Generation } from './generation.ts';
import {
  TextReader,
  type ReplyEvent,
  type FinishReason,
  type ReplyPart,
  type ReplyReader,
} from '../reply-parts.ts';
import { CallBeginnings } from '../tools/call-beginnings.ts';
import { CallReader, CallOrTextReader } from '../tools/call-reader.ts';
import { callConstraint } from '../tools/call-constraint.ts';
import { shortened } from '../body/schema-issues.ts';

/**
 * Maximum choices of one request that run or wait in the engine: more would fill its queue for other clients.
 */
export const CONCURRENT_CHOICES = 4;

const MAX_PAUSE_MS = 5000;

/**
 * Yields the events of all choices as they arrive. The engine generates only as far as the caller iterates.
 * @throws ServiceError of the first choice that fails; the others are then aborted.
 */
export const generate = (run: GenerationRun): AsyncGenerator<ReplyEvent, void, undefined> =>
  choiceCount(run.generation) === 1 ? generateReply(run, 0) : generateReplies(run);

/** Interleaves the choices: the choice whose event was taken last is polled last. */
async function* generateReplies(run: GenerationRun): AsyncGenerator<ReplyEvent, void, undefined> {
  const pending = new Map<AsyncIterator<ReplyEvent>, ReturnType<typeof nextOf>>();
  const pull = (reply: AsyncIterator<ReplyEvent>) => pending.set(reply, nextOf(reply));
  const count = choiceCount(run.generation);
  let begun = 0;
  try {
    for (;;) {
      for (; begun < count && pending.size < CONCURRENT_CHOICES; begun++) pull(generateReply(run, begun));
      if (pending.size === 0) return;
      const { reply, result } = await Promise.race(pending.values());
      pending.delete(reply);
      if (result.done) continue;
      yield result.value;
      pull(reply);
    }
  } catch (error) {
    run.call.abort.abort(error);
    throw error;
  }
}

const nextOf = async (reply: AsyncIterator<ReplyEvent>) => ({ reply, result: await reply.next() });

async function* generateReply(
  run: GenerationRun,
  index: number,
): AsyncGenerator<ReplyEvent, void, undefined> {
  const { call, generation, counter } = run;
  const { engine } = call.dependencies;
  const { signal } = call.abort;
  const id = choiceCount(generation) === 1 ? call.id : `${call.id}-${index}`;
  const reply = new ReplyStream(run, index);
  const request = { id, signal, model: run.model };
  try {
    let events: AsyncIterable<EngineEvent> =
      index < CONCURRENT_CHOICES ? engine.run(reply.job, request) : chatInTurn(engine, reply.job, request);
    for (;;) {
      for await (const event of events) {
        signal.throwIfAborted();
        for (const each of reply.read(event)) yield each;
        // Leaving the loop stops the engine.
        if (reply.ended !== null) break;
      }
      signal.throwIfAborted();
      const reason = reply.finish();
      if (reason !== null) return yield { type: 'finished', index, reason };
      events = chatInTurn(engine, reply.job, { ...request, id: `${id}-call` });
    }
  } catch (error) {
    if (mayBeComputed(reply.stage, call)) counter.computing(index);
    throw renamed(error, generation);
  }
}

/**
 * Runs a further job of a request. If the queue is full, the job waits for a place, so that the reply so far
 * is not lost.
 */
async function* chatInTurn(
  engine: EngineClient,
  job: ChatJob,
  request: EngineRequest,
): AsyncGenerator<EngineEvent, void, undefined> {
  for (;;) {
    try {
      return yield* engine.run(job, request);
    } catch (error) {
      // A full queue rejects the request before any event. A server's limit is reported to the caller.
      if (!(error instanceof ServiceError) || !error.wire.isQueueFull) throw error;
      await delay(Math.min(error.wire.retryAfterMs ?? 1000, MAX_PAUSE_MS), request.signal);
    }
  }
}

/** Renames the field in an engine's error to the endpoint's name for it. */
export function renamed(error: unknown, { params, tools, truncate }: Generation): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { wire } = error;
  if (wire.param === 'messages') {
    const offers = truncate === false && wire.code === 'context_length_exceeded';
    const named = wire.message.replace('the messages', `the ${params.messages}`);
    const message = offers ? `${named} Or set \`truncation\` to "auto".` : named;
    return new ServiceError({ ...wire, param: params.messages, message });
  }
  if (wire.param !== 'response_format') return error;
  if (!tools) return new ServiceError({ ...wire, param: params.responseFormat });
  const message = '`tools` have parameters that the engine cannot enforce. Simplify their schemas.';
  return new ServiceError({ ...wire, param: 'tools', message });
}

/** One choice: its jobs, and the events for the client. */
class ReplyStream {
  job: ChatJob;
  /** Stage that the choice waits in, or last waited in. */
  stage: WaitingStage | null = null;
  /** Reason why the current job is over; `call`: its text has begun a call. */
  ended: FinishReason | 'call' | null = null;
  readonly #run: GenerationRun;
  readonly #index: number;
  #reader: ReplyReader;
  #tokens = 0;
  #thoughts = '';
  /** Tokens of the job before a call; null: the present job is the first. */
  #textTokens: number | null = null;

  constructor(run: GenerationRun, index: number) {
    this.#run = run;
    this.#index = index;
    this.job = toChatJob(run.generation, run.model.id, index);
    this.#reader = readerFor(run.generation);
  }

  read(event: EngineEvent): ReplyEvent[] {
    const { counter, call } = this.#run;
    const index = this.#index;
    switch (event.type) {
      case 'waiting':
        call.servedBy = event.servedBy ?? call.servedBy;
        if (event.loosened) warn(call.warnings, event.loosened);
        this.stage = event.stage;
        if (event.stage === 'prefill') counter.computing(index);
        return [{ index, ...event }];
      case 'accepted':
        if (this.#textTokens !== null) return [];
        if (this.job.countOnly) this.ended = 'length';
        counter.accepted(index, event.accepted);
        call.servedBy = event.accepted.fingerprint;
        call.trace.accepted(call.servedBy);
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
        return this.#toEvents(this.#reader.flush(event.finishReason));
    }
  }

  /**
   * Ends the choice. Null: its text has begun a call, and `job` is now the job that generates the call.
   * @throws ServiceError
   */
  finish(): FinishReason | null {
    if (this.ended === null) throw engineLost();
    const { tools } = this.#run.generation;
    if (this.ended !== 'call' || !tools) return this.ended === 'call' ? 'stop' : this.ended;
    const { topLogprobs: _, maxTokens, ...job } = this.job;
    const limit = maxTokens === undefined ? {} : { maxTokens: maxTokens - this.#tokens };
    if (limit.maxTokens !== undefined && limit.maxTokens < 1) return 'length';
    const thoughts = this.#thoughts === '' ? {} : { thoughts: { text: this.#thoughts, ended: true } };
    this.job = { ...job, ...limit, ...thoughts, constraint: callConstraint(tools) };
    this.#textTokens = this.#tokens;
    this.#reader = new CallReader(tools);
    this.ended = null;
    return null;
  }

  /** Reads reasoning. Stop sequences and calls are searched for only in the answer. */
  #think(text: string): ReplyEvent[] {
    if (text === '') return [];
    this.#thoughts += text;
    return this.#toEvents([{ type: 'reasoning', text }]);
  }

  #toEvents(parts: ReplyPart[]): ReplyEvent[] {
    const index = this.#index;
    if (index === 0) for (const part of parts) this.#run.call.trace.part(part);
    return parts.map((part) => ({ index, ...part }));
  }
}

/** Maximum places of schemas that a warning names. */
const MAX_PLACES = 16;

/** Adds warnings for places in a schema, once: each choice has the same. */
function warn(warnings: string[], places: readonly string[]): void {
  const named = places
    .slice(0, MAX_PLACES)
    .map((place) => shortened(place, 200).replaceAll(/[^\x20-\x7e]/g, '?'));
  if (places.length > MAX_PLACES) named.push('...');
  const warning = `Not enforced: ${named.join(', ')}.`;
  if (!warnings.includes(warning)) warnings.push(warning);
}

function readerFor({ tools, constraint, stop }: Generation): ReplyReader {
  if (!tools) return new TextReader(stop);
  if (tools.mustCall) return new CallReader(tools);
  return constraint ? new CallOrTextReader(stop, tools) : new TextReader(stop, new CallBeginnings(tools));
}
