import type { WaitingStage } from '../../protocol/engine-port.ts';
import type { AnswerFormat, StreamFormat } from './answer-format.ts';
import { newCallId } from '../chat/chat-objects.ts';
import { CONCURRENT_CHOICES, runChoices, type ChoiceSink } from './choices.ts';
import { EventStream } from '../http/event-stream.ts';
import { choiceCount } from './generation.ts';
import { answerHead, type GenerationRun } from './generation-run.ts';
import { StreamDeadline } from '../http/headers-deadline.ts';
import { createDeferred } from '../../protocol/deferred.ts';
import { answerHeaders, EVENT_STREAM } from '../http/response-headers.ts';
import { asServiceError } from '../service-error.ts';

const HEARTBEAT_MS = 5000;

/**
 * A streamed answer: headers once the prompt of every choice begun is known to fit, or a token has come, or at the
 * deadline of the stage that it waits in.
 */
export async function streamAnswer(run: GenerationRun, format: AnswerFormat): Promise<Response> {
  const { call, generation, model, counter, settle } = run;
  call.trace?.open();
  const { engine, heartbeatMs = HEARTBEAT_MS } = call.dependencies;
  const stream = new EventStream(() => call.abort.abort(new Error('the client has left')));
  let events: StreamFormat | null = null;
  let waitingFor: WaitingStage = 'loading';
  const checked = new Set<number>();
  let begunToSpeak = false;
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  const begun = createDeferred();
  const deadline = new StreamDeadline(begun.resolve);

  const sayWaiting = (): void => void stream.send(`: waiting (${waitingFor})\n\n`);
  const speak = (text: string | undefined): void | Promise<void> => {
    if (!begunToSpeak) {
      begunToSpeak = true;
      clearInterval(heartbeat);
      begun.resolve();
    }
    if (text) return stream.send(text);
  };
  const onChecked = (index: number): void => {
    checked.add(index);
    if (checked.size === Math.min(choiceCount(generation), CONCURRENT_CHOICES)) begun.resolve();
  };
  const sink: ChoiceSink = {
    accepted(index, accepted) {
      waitingFor = 'prefill';
      call.servedBy = accepted.fingerprint;
      events ??= format.stream(answerHead(run, format.idPrefix, accepted));
      void stream.send(events.begin(index));
      onChecked(index);
    },
    text: (index, text, logprobs) => speak(events?.text(index, text, logprobs)),
    call: (index, part) =>
      speak(
        part.type === 'call'
          ? events?.call(index, part.call, newCallId(), part.name)
          : events?.callArguments(index, part.call, part.text),
      ),
    finished(index, reason) {
      if (events) void stream.send(events.finish(index, reason));
    },
  };

  const work = runChoices({
    engine,
    generation,
    model,
    id: call.id,
    abort: call.abort,
    counter,
    sink,
    trace: call.trace,
    params: format.params,
    onWaiting(stage, index, servedBy) {
      waitingFor = stage;
      call.servedBy = servedBy ?? call.servedBy;
      deadline.enter(stage);
      if (stage === 'prefill') onChecked(index);
      // The engine has gone in the middle of the reply, and another one loads.
      if (!begunToSpeak) return;
      begunToSpeak = false;
      clearInterval(heartbeat);
      heartbeat = setInterval(sayWaiting, heartbeatMs);
      sayWaiting();
    },
  }).finally(settle);
  try {
    await Promise.race([work, begun.promise]);
  } finally {
    deadline.stop();
  }
  if (!events) sayWaiting();
  if (!begunToSpeak) heartbeat ??= setInterval(sayWaiting, heartbeatMs);

  const conclude = async (): Promise<void> => {
    try {
      await work;
      events ??= format.stream(answerHead(run, format.idPrefix, { fingerprint: model }));
      void stream.send(await events.end(counter.usage));
      call.trace?.done();
    } catch (error) {
      const { signal } = call;
      call.trace?.failed(error, stream.left || signal.aborted);
      if (signal.aborted) stream.fail(signal.reason);
      else {
        events ??= format.stream(answerHead(run, format.idPrefix, { fingerprint: model }));
        void stream.send(events.failure(asServiceError(error), counter.usage));
      }
    } finally {
      clearInterval(heartbeat);
      stream.end();
    }
  };
  void conclude();
  return new Response(stream.body, { headers: answerHeaders(call, EVENT_STREAM, counter.timings) });
}
