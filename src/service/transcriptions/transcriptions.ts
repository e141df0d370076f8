import { estimateTokens, SOUND_TOKENS_A_SECOND, type TranscriptionEvent, type TranscriptionJob } from '#jobs';
import { type AnswerFormat, respond } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { admit, JobMeter } from '../http/job-run.ts';
import { dataEvent, EVENT_STREAM } from '../http/response.ts';
import { contentTypeOf, deltaEvent, doneEvent, formatTranscript, textOf } from './transcript-formats.ts';

/** Tokens reserved for a file, whose length is not known yet, and the least to charge: the shortest one takes a window's work. */
const RESERVED_TOKENS = 256;

/** POST /v1/audio/transcriptions and /v1/audio/translations. */
export async function createTranscription(
  exchange: Exchange,
  task: TranscriptionJob['task'],
): Promise<Response> {
  const { readForm } = await import('./transcription-form.ts');
  const { file, model, format: name, job: fields } = await readForm(exchange);
  const run = await admit(exchange, {
    model,
    kind: 'transcription',
    meter: new JobMeter(RESERVED_TOKENS),
    isStreamed: fields.stream,
    reserved: RESERVED_TOKENS,
  });
  const job: TranscriptionJob = { kind: 'transcription', model: run.model.id, task, file, ...fields };
  let characters = 0;
  let whole = '';

  /** Counts an event. @returns the text that a stream adds to its transcript */
  const read = (event: TranscriptionEvent): string => {
    if (event.type === 'accepted') return '';
    const isFirst = characters === 0;
    let text = '';
    if (event.type === 'delta') {
      text = isFirst ? event.text.trimStart() : event.text;
      characters += event.text.length;
      // No engine counts the tokens of a transcript that is cut off.
      const sound = (event.progress?.position ?? 0) * SOUND_TOKENS_A_SECOND;
      run.meter.count(Math.max(RESERVED_TOKENS, Math.ceil(sound) + estimateTokens(characters)));
    } else {
      // The sound is work, too, also where nobody speaks.
      const { promptTokens, completionTokens } = event.usage;
      run.meter.count(Math.max(RESERVED_TOKENS, promptTokens + completionTokens), event.usage);
      // Some servers do not stream.
      if (isFirst) text = textOf(event.transcript);
    }
    if (text !== '') run.exchange.trace.generated(text);
    return text;
  };
  const streamed: AnswerFormat<TranscriptionEvent> = {
    type: EVENT_STREAM,
    event(event) {
      const delta = deltaEvent(read(event));
      return event.type === 'done' ? delta + doneEvent(textOf(event.transcript), event.usage) : delta;
    },
    failure: dataEvent,
  };
  const inOnePiece: AnswerFormat<TranscriptionEvent> = {
    type: contentTypeOf(name),
    event(event) {
      read(event);
      if (event.type === 'done') whole = formatTranscript(name, event.transcript, job);
      return '';
    },
    end: () => whole,
  };
  return respond(run, job.stream ? streamed : inOnePiece, (sink) => run.run(job, sink));
}
