import { remainingMs } from './call.ts';
import { answerHead, type ChatRun } from './chat-run.ts';
import { CONCURRENT_CHOICES, runChoices, type ChoiceSink } from './choices.ts';
import { ChunkEncoder } from './chunk-encoder.ts';
import { untilCommit } from './commit.ts';
import { EventStream } from './event-stream.ts';
import { createMoment } from './moment.ts';
import { answerHeaders, EVENT_STREAM } from './response-headers.ts';
import { asServiceError } from './service-error.ts';

const HEARTBEAT_MS = 5000;

/** A streamed chat: headers once every choice begun has been accepted, or a token has come, or it is time. */
export async function streamChat(run: ChatRun): Promise<Response> {
  const { call, request, model, tally, settle } = run;
  const { engine, heartbeatMs = HEARTBEAT_MS } = call.dependencies;
  const stream = new EventStream(() => call.abort.abort(new Error('the client has left')));
  let encoder: ChunkEncoder | null = null;
  let waitingFor = 'queued';
  let acceptedChoices = 0;
  let begunToSpeak = false;
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  const begun = createMoment();

  const sink: ChoiceSink = {
    accepted(index, accepted) {
      waitingFor = 'prefill';
      encoder ??= new ChunkEncoder(answerHead(run, accepted), request.includeUsage);
      void stream.send(encoder.role(index));
      acceptedChoices += 1;
      if (acceptedChoices === Math.min(request.choices, CONCURRENT_CHOICES)) begun.reach();
    },
    text(index, text, logprobs) {
      if (!begunToSpeak) {
        begunToSpeak = true;
        clearInterval(heartbeat);
        begun.reach();
      }
      if (encoder) return stream.send(encoder.text(index, text, logprobs));
    },
    finished(index, reason) {
      if (encoder) void stream.send(encoder.finish(index, reason));
    },
  };

  const work = runChoices({
    engine,
    request,
    model,
    id: call.id,
    abort: call.abort,
    tally,
    sink,
    onWaiting(stage) {
      waitingFor = stage;
    },
  }).finally(settle);

  const sayWaiting = (): void => void stream.send(`: waiting (${waitingFor})\n\n`);
  if ((await untilCommit(Promise.race([work, begun.reached]), remainingMs(call))) === 'deadline')
    sayWaiting();
  if (!begunToSpeak) heartbeat = setInterval(sayWaiting, heartbeatMs);

  const conclude = async (): Promise<void> => {
    try {
      await work;
      if (encoder && request.includeUsage) void stream.send(encoder.usage(tally.usage));
      void stream.send('data: [DONE]\n\n');
    } catch (error) {
      const { signal } = call.request;
      // The status has gone out: the error is an event, and without `[DONE]` after it the SDKs throw.
      if (signal.aborted) stream.fail(signal.reason);
      else void stream.send(`data: ${JSON.stringify(asServiceError(error))}\n\n`);
    } finally {
      clearInterval(heartbeat);
      stream.end();
    }
  };
  void conclude();
  return new Response(stream.body, { headers: answerHeaders(call, EVENT_STREAM, tally.timings) });
}
