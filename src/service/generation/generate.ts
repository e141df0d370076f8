import type { ChatEvent, ChatJob, EngineFinishReason } from '#jobs';
import type { Stage } from '#protocol';
import { ServiceError } from '#base';
import type { AnswerSink } from '../http/job-run.ts';
import type { ChatRun } from './admission.ts';
import { choiceCount, toChatJob, type Generation } from './generation.ts';
import {
  TextReader,
  type ChoiceEvent,
  type FinishReason,
  type ReplyPart,
  type ReplyReader,
} from '../reply-parts.ts';
import { withChosenTool } from '../tools/choose-tool.ts';
import { CallBeginnings } from '../tools/call-beginnings.ts';
import { CallReader, CallOrTextReader } from '../tools/call-reader.ts';
import { callConstraint } from '../tools/call-constraint.ts';

/**
 * Maximum choices of one request that run or wait in the engine: more would fill its queue for other clients.
 */
export const CONCURRENT_CHOICES = 4;

/**
 * Generates all choices, some at a time. Each waits until the sink has taken its last event.
 * @throws ServiceError of the first choice that fails; the others are then aborted
 */
export async function generate(run: ChatRun, sink: AnswerSink<ChoiceEvent>): Promise<void> {
  const { tools } = run.meter.generation;
  const generation = tools ? await withChosenTool(run, tools, sink) : run.meter.generation;
  const count = choiceCount(generation);
  let begun = 0;
  const failures: unknown[] = [];
  const generateSome = async (): Promise<void> => {
    try {
      while (begun < count) await new Reply(run, generation, begun++, sink).generate();
    } catch (error) {
      failures.push(error);
      run.exchange.abort.abort(error);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, CONCURRENT_CHOICES) }, generateSome));
  if (failures.length > 0) throw failures[0];
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
class Reply implements AnswerSink<ChatEvent> {
  readonly #run: ChatRun;
  readonly #generation: Generation;
  readonly #index: number;
  readonly #sink: AnswerSink<ChoiceEvent>;
  #job: ChatJob;
  #reader: ReplyReader;
  /** Reason why the current job is over; `call`: its text has begun a call. */
  #ended: EngineFinishReason | 'call' | null = null;
  #hasCalled = false;
  #tokens = 0;
  #thoughts = '';
  /** Tokens of the job before a call; null: the present job is the first. */
  #textTokens: number | null = null;

  constructor(run: ChatRun, generation: Generation, index: number, sink: AnswerSink<ChoiceEvent>) {
    this.#run = run;
    this.#generation = generation;
    this.#index = index;
    this.#sink = sink;
    this.#job = toChatJob(generation, run.model, index);
    this.#reader = readerFor(generation);
  }

  async generate(): Promise<void> {
    const { exchange } = this.#run;
    const generation = this.#generation;
    const index = this.#index;
    const id = choiceCount(generation) === 1 ? exchange.id : `${exchange.id}-${index}`;
    try {
      await this.#run.run(this.#job, this, { id, index, mayWait: index >= CONCURRENT_CHOICES });
      while (this.#beginsCall())
        await this.#run.run(this.#job, this, { id: `${id}-call`, index, mayWait: true });
    } catch (error) {
      throw renamed(error, generation);
    }
    await this.#sink.event({ type: 'finished', index, reason: this.#reason });
  }

  /** If the request names the function, OpenAI reports `stop` for its call. */
  get #reason(): FinishReason {
    if (this.#ended === 'length' || this.#ended === 'content_filter') return this.#ended;
    return this.#hasCalled && !this.#generation.tools?.isNamed ? 'tool_calls' : 'stop';
  }

  stage(stage: Stage, index: number): void {
    this.#sink.stage(stage, index);
  }

  async event(event: ChatEvent): Promise<boolean> {
    const { meter } = this.#run;
    const index = this.#index;
    switch (event.type) {
      case 'accepted':
        if (this.#textTokens !== null) break;
        meter.accepted(index, event.accepted);
        await this.#sink.event({ index, ...event });
        if (this.#job.countOnly) this.#ended = 'length';
        break;
      case 'delta': {
        const { text, tokens, isReasoning = false, logprobs } = event.delta;
        this.#tokens += tokens;
        meter.generated(index, tokens, isReasoning);
        if (isReasoning) await this.#think(text);
        else {
          const parts = this.#reader.push(text, logprobs);
          this.#ended = this.#reader.ended;
          await this.#emit(parts);
        }
        break;
      }
      case 'done':
        meter.done(index, event.usage, this.#textTokens ?? 0);
        this.#ended = event.finishReason;
        await this.#emit(this.#reader.flush(event.finishReason));
    }
    return this.#ended !== null;
  }

  /** Prepares the job that generates a call, if the text has begun one and tokens are left. */
  #beginsCall(): boolean {
    const { tools } = this.#generation;
    if (this.#ended !== 'call' || !tools) return false;
    const { topLogprobs: _, maxTokens, resume, ...job } = this.#job;
    const limit = maxTokens === undefined ? {} : { maxTokens: maxTokens - this.#tokens };
    if (limit.maxTokens !== undefined && limit.maxTokens < 1) {
      this.#ended = 'length';
      return false;
    }
    const thoughts = this.#thoughts === '' ? {} : { thoughts: { text: this.#thoughts, ended: true } };
    const before = resume ? { resume: { ...resume, precedesConstraint: true as const } } : {};
    this.#job = { ...job, ...before, ...limit, ...thoughts, constraint: callConstraint(tools) };
    this.#textTokens = this.#tokens;
    this.#reader = new CallReader(tools);
    this.#ended = null;
    return true;
  }

  /** Reads reasoning. Stop sequences and calls are searched for only in the answer. */
  async #think(text: string): Promise<void> {
    if (text === '') return;
    this.#thoughts += text;
    await this.#emit([{ type: 'reasoning', text }]);
  }

  async #emit(parts: readonly ReplyPart[]): Promise<void> {
    const index = this.#index;
    for (const part of parts) {
      this.#hasCalled ||= part.type === 'call';
      if (index === 0) this.#run.exchange.trace.generated(shownText(part));
      await this.#sink.event({ index, ...part });
    }
  }
}

/** Text of a part in the request log: no reasoning. */
function shownText(part: ReplyPart): string {
  if (part.type === 'call') return `${part.tool.name} `;
  return part.type === 'reasoning' ? '' : part.text;
}

function readerFor({ tools, constraint, stop, partial }: Generation): ReplyReader {
  // A text that has begun under a schema is no call.
  if (!tools || (constraint && partial)) return new TextReader(stop);
  if (tools.mustCall) return new CallReader(tools);
  return constraint ? new CallOrTextReader(stop, tools) : new TextReader(stop, new CallBeginnings(tools));
}
