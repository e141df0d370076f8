import { engineLost } from '#base';
import type { Timings, EventOf, JobOf } from '#jobs';
import type { WaitingStage, ModelEntry } from '#protocol';
import type { Call } from './call.ts';
import { answerHeaders, answerJson, JSON_TYPE } from './response.ts';

type OneAnswer = 'decision' | 'embedding';

interface JobReader<K extends OneAnswer> {
  /** Converts each event; the result for the last event is the answer's body. */
  toBody(event: EventOf<K>): object | null;
  /** The error for the client. */
  toError?(error: unknown): unknown;
  /** Called once the job has ended, in any way, with the last stage that it waited in. */
  onEnd?(stage: WaitingStage | null): Promise<void>;
}

/** Answers with the result of one job, in one piece. */
export function answerJob<K extends OneAnswer>(
  call: Call,
  model: ModelEntry,
  job: JobOf<K>,
  { toBody, toError, onEnd }: JobReader<K>,
): Promise<Response> {
  let stage: WaitingStage | null = null;
  let timings: Timings | undefined;
  const answer = async (): Promise<string> => {
    try {
      const { id, abort } = call;
      for await (const event of call.dependencies.engine.run(job, { id, signal: abort.signal, model })) {
        if (event.type === 'waiting') {
          ({ stage } = event);
          continue;
        }
        const body = toBody(event);
        if (event.type !== 'done') continue;
        ({ timings } = event);
        call.servedBy = event.fingerprint;
        call.trace.accepted(event.fingerprint);
        return JSON.stringify(body);
      }
    } catch (error) {
      throw toError?.(error) ?? error;
    } finally {
      await onEnd?.(stage);
    }
    throw engineLost();
  };
  return answerJson(call, answer(), {
    isComputing: () => stage === 'prefill',
    headers: () => answerHeaders(call, JSON_TYPE, timings),
  });
}
