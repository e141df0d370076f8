import type { Accepted, TokenLogprob } from '../protocol/job.ts';
import { toChatJob, type ChatRequest } from './chat-request.ts';
import { LogprobQueue } from './logprob-queue.ts';
import type { EngineClient } from './service-dependencies.ts';
import { ServiceError } from './service-error.ts';
import { StopSequences } from './stop-sequences.ts';
import type { Tally } from './tally.ts';

export type FinishReason = 'stop' | 'length';

/** Where the choices of a request go, as they come. */
export interface ChoiceSink {
  accepted(index: number, accepted: Accepted): void;
  /** A promise is waited for before the engine is asked for more. */
  text(index: number, text: string, logprobs: TokenLogprob[]): void | Promise<void>;
  finished(index: number, reason: FinishReason): void;
}

export interface ChoicesRun {
  engine: EngineClient;
  request: ChatRequest;
  /** Id in the catalog. */
  model: string;
  /** Unique, as locks are named after it. */
  id: string;
  abort: AbortController;
  tally: Tally;
  sink: ChoiceSink;
  onWaiting(stage: 'queued' | 'loading' | 'prefill'): void;
}

/** Choices of one request that are at the engine at once: more would fill its queue for everyone else. */
export const CONCURRENT_CHOICES = 4;

/**
 * Runs every choice as a job of its own, some at a time.
 * @throws ServiceError of the first that fails, after the others have been aborted.
 */
export async function runChoices(run: ChoicesRun): Promise<void> {
  const { choices } = run.request;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < choices) {
      const index = next;
      next += 1;
      await runChoice(run, index);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(CONCURRENT_CHOICES, choices) }, lane));
  } catch (error) {
    next = choices;
    run.abort.abort(error);
    throw error;
  }
}

async function runChoice({ engine, request, model, id, ...run }: ChoicesRun, index: number): Promise<void> {
  const { tally, sink, onWaiting } = run;
  const { signal } = run.abort;
  const stops = new StopSequences(request.stop);
  const logprobs = request.topLogprobs === null ? null : new LogprobQueue();
  const job = toChatJob(request, model, index);
  const choiceId = request.choices === 1 ? id : `${id}-${index}`;

  for await (const event of engine.chat(job, { id: choiceId, signal, onWaiting })) {
    signal.throwIfAborted();
    if (event.type === 'delta') {
      const { delta } = event;
      tally.generated(index, delta.tokens);
      if (logprobs && delta.logprobs) logprobs.push(delta.logprobs);
      const { text, stopped } = stops.push(delta.text);
      const shown = logprobs?.take(text, stops.withholds || stopped) ?? [];
      if (text !== '' || shown.length > 0) {
        const read = sink.text(index, text, shown);
        if (read) await read;
      }
      if (stopped) {
        sink.finished(index, 'stop');
        // Leaving the loop returns the iterator, which stops the engine.
        return;
      }
    } else if (event.type === 'accepted') {
      tally.accepted(event.accepted);
      sink.accepted(index, event.accepted);
    } else {
      tally.done(index, event.usage, event.timings);
      const rest = stops.flush();
      const last = logprobs?.rest() ?? [];
      if (rest !== '' || last.length > 0) await sink.text(index, rest, last);
      sink.finished(index, event.finishReason);
      return;
    }
  }
  signal.throwIfAborted();
  throw new ServiceError({
    status: 500,
    type: 'server_error',
    code: 'engine_lost',
    param: null,
    message: 'The engine ended before the reply was complete. Send the request again.',
  });
}
