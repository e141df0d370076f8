import type { WaitingStage } from '../../protocol/engine-port.ts';
import type { Accepted, TokenLogprob } from '../../protocol/job.ts';
import type { ParamNames } from './answer-format.ts';
import { choiceCount, toChatJob, type Generation } from './generation.ts';
import { patientChat } from './patient-chat.ts';
import { Reply, type FinishReason } from './reply.ts';
import type { RequestTrace } from '../http/request-trace.ts';
import type { EngineClient } from '../service-dependencies.ts';
import { ServiceError } from '../service-error.ts';
import type { UsageCounter } from './usage-counter.ts';
import type { CallPart } from '../tools/call-reader.ts';

/** Where the choices of a request go. */
export interface ChoiceSink {
  accepted(index: number, accepted: Accepted): void;
  text(index: number, text: string, logprobs: TokenLogprob[]): void | Promise<void>;
  call(index: number, part: CallPart): void | Promise<void>;
  finished(index: number, reason: FinishReason): void;
}

export interface ChoicesRun {
  engine: EngineClient;
  generation: Generation;
  /** Id in the catalog. */
  model: string;
  /** Unique, as locks are named after it. */
  id: string;
  abort: AbortController;
  counter: UsageCounter;
  sink: ChoiceSink;
  trace: RequestTrace | null;
  params: ParamNames;
  onWaiting(stage: WaitingStage, index: number, servedBy?: string): void;
}

/** Choices of one request that are at the engine at once: more would fill its queue for everyone else. */
export const CONCURRENT_CHOICES = 4;

/**
 * Runs every choice as its own job, some at a time.
 * @throws ServiceError of the first that fails, after the others have been aborted.
 */
export async function runChoices(run: ChoicesRun): Promise<void> {
  const count = choiceCount(run.generation);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await runChoice(run, index);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(CONCURRENT_CHOICES, count) }, lane));
  } catch (error) {
    next = count;
    run.abort.abort(error);
    throw named(error, run);
  }
}

async function runChoice({ engine, generation, model, ...run }: ChoicesRun, index: number): Promise<void> {
  const { counter, sink, trace, onWaiting } = run;
  const { signal } = run.abort;
  const id = choiceCount(generation) === 1 ? run.id : `${run.id}-${index}`;
  const reply = new Reply({
    job: toChatJob(generation, model, index),
    stop: generation.stop,
    tools: generation.tools,
    ask(job, again) {
      const options = {
        id: again ? `${id}-call` : id,
        signal,
        onWaiting: (stage: WaitingStage, servedBy?: string) => onWaiting(stage, index, servedBy),
      };
      return again || index >= CONCURRENT_CHOICES
        ? patientChat(engine, job, options)
        : engine.chat(job, options);
    },
    signal,
    counter,
    index,
    sink: {
      accepted(accepted) {
        trace?.accepted(accepted.fingerprint);
        sink.accepted(index, accepted);
      },
      text(text, logprobs) {
        if (index === 0) trace?.text(text);
        return sink.text(index, text, logprobs);
      },
      call(part) {
        if (index === 0) trace?.text(part.type === 'call' ? `${part.name} ` : part.text);
        return sink.call(index, part);
      },
    },
  });
  sink.finished(index, await reply.run());
}

/** A fault of the conversation, or of the form that the reply is held to, under the name that it has at this endpoint. */
function named(error: unknown, { params, generation }: ChoicesRun): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { wire } = error;
  if (wire.param === 'messages') return new ServiceError({ ...wire, param: params.messages });
  if (wire.param !== 'response_format') return error;
  if (!generation.tools) return new ServiceError({ ...wire, param: params.response_format });
  const rule =
    'have parameters that cannot be enforced: a schema uses something that the engine cannot express';
  return new ServiceError({ ...wire, param: 'tools', message: `\`tools\` ${rule}. Simplify the schemas.` });
}
