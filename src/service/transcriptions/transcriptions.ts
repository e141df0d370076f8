import { estimateTokens, type Timings, type TranscriptionJob } from '#jobs';
import { LOGGED_BODY_CHARACTERS, type WaitingStage } from '#protocol';
import { mayBeComputed, reserve } from '../generation/admission.ts';
import type { Call } from '../http/call.ts';
import { answerHeaders, answerJson } from '../http/response.ts';
import { StreamedAnswer } from '../http/streamed-answer.ts';
import { requireModel } from '../model-list/models.ts';
import { contentTypeOf, deltaEvent, doneEvent, formatTranscript, textOf } from './transcript-formats.ts';
import { readForm } from './transcription-form.ts';

/** Tokens reserved for a file; a key's limit counts the tokens of its text. */
const RESERVED_TOKENS = 256;

/** POST /v1/audio/transcriptions and /v1/audio/translations. */
export async function createTranscription(call: Call, task: TranscriptionJob['task']): Promise<Response> {
  const { dependencies, admitted, abort, trace } = call;
  const { file, model: id, format, job: fields } = await readForm(call);
  const model = await requireModel(dependencies.models, id, 'transcription', admitted);
  const settle = await reserve(call, RESERVED_TOKENS);
  const job: TranscriptionJob = { kind: 'transcription', model: model.id, task, file, ...fields };
  const isStreamed = job.stream;
  const streamed = new StreamedAnswer(call);
  let isAccepted = false;
  let timings: Timings | undefined;
  let stage: WaitingStage = 'loading';

  const run = async (): Promise<string> => {
    let used: number | null = null;
    let characters = 0;
    let body = '';
    const send = async (events: string): Promise<void> => {
      // Only the part of a stream that the log shows is kept.
      if (body.length <= LOGGED_BODY_CHARACTERS) body += events;
      streamed.send(events);
      await streamed.room();
    };
    try {
      for await (const event of dependencies.engine.run(job, { id: call.id, signal: abort.signal, model })) {
        if (event.type === 'waiting') {
          streamed.enter((stage = event.stage));
          continue;
        }
        if (event.type === 'accepted') {
          isAccepted = true;
          call.servedBy = event.fingerprint;
          trace.accepted(event.fingerprint);
          if (isStreamed) streamed.releaseHeaders();
        } else if (event.type === 'delta') {
          if (isStreamed) await send(deltaEvent(characters === 0 ? event.text.trimStart() : event.text));
          characters += event.text.length;
        } else {
          used = event.usage.completionTokens;
          ({ timings } = event);
          trace.usage(event.usage);
          const whole = textOf(event.transcript);
          if (!isStreamed) body = formatTranscript(format, event.transcript, job);
          // Some servers do not stream.
          else await send((characters === 0 ? deltaEvent(whole) : '') + doneEvent(whole, event.usage));
        }
      }
      return body;
    } finally {
      streamed.stopWaiting();
      call.leave();
      const began = isAccepted || mayBeComputed(stage, call);
      // No engine counts the tokens of a transcript that was cut off.
      used ??= Math.max(estimateTokens(characters), began ? RESERVED_TOKENS : 0);
      await settle(used);
    }
  };

  const answer = run();
  if (isStreamed)
    return streamed.respond(answer, {
      hasBegun: () => isAccepted,
      timings: () => ({}),
      end: () => '',
      failure: (error) => `data: ${JSON.stringify(error)}\n\n`,
    });
  return answerJson(call, answer, {
    isComputing: () => stage === 'prefill',
    headers: () => answerHeaders(call, contentTypeOf(format), timings),
  });
}
