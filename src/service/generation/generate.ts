import type { ChatEvent, EngineFinishReason } from '#jobs';
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
      while (begun < count) await generateReply(run, generation, begun++, sink);
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
    const named = wire.message.replace('the messages', `the ${params.messages}${tools ? ' or `tools`' : ''}`);
    const message = offers ? `${named} Or set \`truncation\` to "auto".` : named;
    return new ServiceError({ ...wire, param: params.messages, message });
  }
  if (wire.param !== 'response_format') return error;
  if (!tools) return new ServiceError({ ...wire, param: params.responseFormat });
  const message = '`tools` have parameters that the engine cannot enforce. Simplify their schemas.';
  return new ServiceError({ ...wire, param: 'tools', message });
}

/** Generates one choice: runs its jobs, and sends the events for the client. */
async function generateReply(
  run: ChatRun,
  generation: Generation,
  index: number,
  sink: AnswerSink<ChoiceEvent>,
): Promise<void> {
  const { exchange, meter } = run;
  const { tools } = generation;
  let job = toChatJob(generation, run.model, index);
  let reader = readerFor(generation);
  /** Reason why the current job is over; `call`: its text has begun a call. */
  let ended: EngineFinishReason | 'call' | null = null;
  let hasCalled = false;
  let generated = 0;
  let reasoning = '';
  /** Tokens of the job before a call; null: the present job is the first. */
  let textTokens: number | null = null;

  async function emit(parts: readonly ReplyPart[]): Promise<void> {
    for (const part of parts) {
      hasCalled ||= part.type === 'call';
      if (index === 0) exchange.trace.generated(shownText(part));
      await sink.event({ index, ...part });
    }
  }

  /** Reads reasoning. Stop sequences and calls are searched for only in the answer. */
  async function think(text: string): Promise<void> {
    if (text === '') return;
    reasoning += text;
    await emit([{ type: 'reasoning', text }]);
  }

  const jobSink: AnswerSink<ChatEvent> = {
    stage: sink.stage.bind(sink),
    async event(event) {
      switch (event.type) {
        case 'accepted':
          if (textTokens !== null) break;
          meter.accepted(index, event.accepted);
          await sink.event({ index, ...event });
          if (job.countOnly) ended = 'length';
          break;
        case 'delta': {
          const { text, tokens, isReasoning = false, logprobs } = event.delta;
          generated += tokens;
          meter.generated(index, tokens, isReasoning);
          if (isReasoning) await think(text);
          else {
            const parts = reader.push(text, logprobs);
            ({ ended } = reader);
            await emit(parts);
          }
          break;
        }
        case 'done':
          meter.done(index, event.usage, textTokens ?? 0);
          ended = event.finishReason;
          await emit(reader.flush(event.finishReason));
      }
      return ended !== null;
    },
  };

  /** Prepares the job that generates a call, if the text has begun one and tokens are left. */
  function beginsCall(): boolean {
    if (ended !== 'call' || !tools) return false;
    const { topLogprobs: _, maxTokens, resume, ...rest } = job;
    const limit = maxTokens === undefined ? {} : { maxTokens: maxTokens - generated };
    if (limit.maxTokens !== undefined && limit.maxTokens < 1) {
      ended = 'length';
      return false;
    }
    const thoughts = reasoning === '' ? {} : { thoughts: { text: reasoning, ended: true } };
    const before = resume ? { resume: { ...resume, precedesConstraint: true as const } } : {};
    job = { ...rest, ...before, ...limit, ...thoughts, constraint: callConstraint(tools) };
    textTokens = generated;
    reader = new CallReader(tools);
    ended = null;
    return true;
  }

  /** If the request names the function, OpenAI reports `stop` for its call. */
  function finishReason(): FinishReason {
    if (ended === 'length' || ended === 'content_filter') return ended;
    return hasCalled && !tools?.isNamed ? 'tool_calls' : 'stop';
  }

  const id = choiceCount(generation) === 1 ? exchange.id : `${exchange.id}-${index}`;
  try {
    await run.run(job, jobSink, { id, index, mayWait: index >= CONCURRENT_CHOICES });
    while (beginsCall()) await run.run(job, jobSink, { id: `${id}-call`, index, mayWait: true });
  } catch (error) {
    throw renamed(error, generation);
  }
  await sink.event({ type: 'finished', index, reason: finishReason() });
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
