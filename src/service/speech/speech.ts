import { omitNulls } from '#base';
import {
  estimateTokens,
  SPEECH_TOKENS_A_SECOND,
  type ChatUsage,
  type SpeechEvent,
  type SpeechFormat,
  type SpeechJob,
} from '#jobs';
import { type AnswerFormat, respond } from '../http/answer.ts';
import { toBase64 } from '../http/base64.ts';
import type { Exchange } from '../http/exchange.ts';
import { admit, JobMeter } from '../http/job-run.ts';
import { dataEvent, EVENT_STREAM } from '../http/response.ts';
import type { SpeechBody } from './speech-schema.ts';

const TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};
/** OpenAI's default. */
const DEFAULT_FORMAT = 'mp3';
/** Approximate pace of speech. */
const CHARACTERS_A_SECOND = 15;

const soundTokens = (seconds: number): number => Math.ceil(seconds * SPEECH_TOKENS_A_SECOND);

/** POST /v1/audio/speech */
export async function createSpeech(exchange: Exchange, body: SpeechBody): Promise<Response> {
  const { input, voice, speed, response_format: named, stream_format: stream, instructions } = body;
  const text = input.toWellFormed();
  const tokens = estimateTokens(text.length);
  const run = await admit(exchange, {
    model: body.model,
    kind: 'speech',
    meter: new JobMeter(tokens),
    isStreamed: true,
    reserved: tokens + soundTokens(text.length / CHARACTERS_A_SECOND / (speed ?? 1)),
  });
  const format = named ?? DEFAULT_FORMAT;
  const job: SpeechJob = {
    kind: 'speech',
    model: run.model.id,
    text,
    format,
    speed: speed ?? 1,
    ...omitNulls({ voice: typeof voice === 'object' ? voice?.id : voice, instructions }),
  };
  let seconds = 0;
  let usage: ChatUsage = { promptTokens: tokens, cachedTokens: 0, completionTokens: 0 };
  const read = (event: SpeechEvent): Uint8Array<ArrayBuffer> | null => {
    if (event.type === 'done') {
      usage = { ...event.usage, completionTokens: soundTokens(seconds) };
      run.meter.count(Math.max(tokens, usage.promptTokens) + usage.completionTokens, usage);
    }
    if (event.type !== 'delta') return null;
    // Numbers and signs are spoken longer than they are written.
    seconds += event.seconds ?? 0;
    run.meter.count(tokens + soundTokens(seconds));
    if (event.text !== '') run.exchange.trace.generated(event.text);
    return event.bytes;
  };
  const sound: AnswerFormat<SpeechEvent> = {
    type: TYPES[format],
    isLive: true,
    event: (event) => read(event) ?? '',
  };
  const events: AnswerFormat<SpeechEvent> = {
    type: EVENT_STREAM,
    event(event) {
      const bytes = read(event);
      if (event.type === 'done') return doneEvent(usage);
      if (!bytes || event.type !== 'delta') return '';
      // OpenAI's deltas have no text. Captions need what the sound says.
      const { text: spoken } = event;
      const delta = {
        type: 'speech.audio.delta',
        audio: toBase64(bytes),
        ...(spoken !== '' && { text: spoken }),
      };
      return dataEvent(delta);
    },
    failure: dataEvent,
  };
  return respond(run, stream === 'sse' ? events : sound, (sink) => run.run(job, sink));
}

const doneEvent = ({ promptTokens: input, completionTokens: output }: ChatUsage): string => {
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return dataEvent({ type: 'speech.audio.done', usage });
};
