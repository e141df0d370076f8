import { EventStream } from '../http/event-stream.ts';
import { answerHeaders, EVENT_STREAM } from '../http/response-headers.ts';
import { StreamWait } from '../http/stream-wait.ts';
import { asServiceError } from '../service-error.ts';
import { answerHead, type GenerationRun } from './admission.ts';
import type { AnswerFormat, StreamEncoder } from './answer-format.ts';
import { choiceCount } from './generation.ts';
import { CONCURRENT_CHOICES, generate } from './generate.ts';

const HEARTBEAT_MS = 5000;

/**
 * A streamed answer. Its headers are sent once the prompt of every choice begun is known to fit, or a token has come,
 * or at the deadline of the stage that it waits in.
 */
export async function streamAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, counter } = run;
  const { trace, abort, signal, dependencies } = call;
  trace?.open();
  const stream = new EventStream(() => abort.abort(new Error('the client has left')));
  const wait = new StreamWait(
    (stage) => stream.send(`: waiting (${stage})\n\n`),
    dependencies.heartbeatMs ?? HEARTBEAT_MS,
  );
  let encoder: StreamEncoder | null = null;
  const started = (): StreamEncoder => (encoder ??= format.stream(answerHead(run, format.idPrefix)));

  const send = async (): Promise<void> => {
    const checked = new Set<number>();
    const first = Math.min(choiceCount(generation), CONCURRENT_CHOICES);
    for await (const event of generate(run)) {
      if (event.type === 'waiting') wait.enter(event.stage);
      else if (event.type === 'accepted') {
        wait.stage = 'prefill';
        stream.send(started().encode(event));
      } else {
        wait.generating();
        stream.send(started().encode(event));
        if (stream.isFull) await stream.room();
        continue;
      }
      if (event.type === 'accepted' || event.stage === 'prefill') checked.add(event.index);
      if (checked.size === first) wait.releaseHeaders();
    }
  };

  const conclude = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
      stream.send(await started().end(counter.usage));
      trace?.done();
    } catch (error) {
      trace?.failed(error, stream.isClosed || signal.aborted);
      if (signal.aborted) stream.fail(signal.reason);
      else stream.send(started().failure(asServiceError(error), counter.usage));
    } finally {
      wait.end();
      stream.end();
    }
  };

  const work = send().finally(() => run.settle());
  try {
    await Promise.race([work, wait.headersDue]);
  } catch (error) {
    wait.end();
    throw error;
  }
  wait.headersSent({ commentNow: encoder === null });
  void conclude(work);
  return new Response(stream.body, { headers: answerHeaders(call, EVENT_STREAM, counter.timings) });
}
