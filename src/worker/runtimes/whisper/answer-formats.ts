import type { TranscriptionJob, TranscriptionSegment } from '../../../jobs/transcription.ts';
import type { FormFields } from './form-fields.ts';

export interface Transcript {
  task: TranscriptionJob['task'];
  language: string;
  seconds: number;
  segments: readonly TranscriptionSegment[];
}

/** The whisper encoder's states for a second of sound: what OpenAI counts as its tokens is not known. */
const AUDIO_TOKENS = 50;

const textOf = (segments: readonly TranscriptionSegment[]): string =>
  segments
    .map(({ text }) => text)
    .join('')
    .trim();

export const countTokens = ({ seconds, segments }: Pick<Transcript, 'seconds' | 'segments'>) => ({
  input: Math.ceil(seconds * AUDIO_TOKENS),
  output: segments.reduce((sum, { tokens }) => sum + tokens.length, 0),
});

export function contentType({ format, stream }: FormFields): string {
  if (stream) return 'text/event-stream';
  if (format === 'json' || format === 'verbose_json') return 'application/json';
  return format === 'vtt' ? 'text/vtt; charset=utf-8' : 'text/plain; charset=utf-8';
}

/** The whole body. */
export function formatWhole(
  { format, granularities }: Pick<FormFields, 'format' | 'granularities'>,
  transcript: Transcript,
): string {
  const { segments, seconds, language, task } = transcript;
  const text = textOf(segments);
  const usage = { type: 'duration', seconds: Math.ceil(seconds) };
  switch (format) {
    case 'text':
      return `${text}\n`;
    case 'srt':
      return segments.map((each, at) => `${at + 1}\n${cue(each, ',')}`).join('');
    case 'vtt':
      return `WEBVTT\n\n${segments.map((each) => cue(each, '.')).join('')}`;
    case 'json':
      return JSON.stringify({ text, usage });
    case 'verbose_json':
      return JSON.stringify({
        task,
        language: nameOf(language),
        duration: round(seconds),
        text,
        ...(granularities.includes('segment') && { segments: segments.map(verbose) }),
        ...(granularities.includes('word') && {
          words: segments.flatMap(({ words = [] }) => words.map(rounded)),
        }),
        usage,
      });
  }
}

/** The event for segments that are ready; empty: nothing is. */
export function deltaEvent(segments: readonly TranscriptionSegment[], isFirst: boolean): string {
  const text = segments.map((each) => each.text).join('');
  const delta = isFirst ? text.trimStart() : text;
  return delta === '' ? '' : event({ type: 'transcript.text.delta', delta });
}

export function doneEvent(transcript: Transcript): string {
  const { input, output } = countTokens(transcript);
  return event({
    type: 'transcript.text.done',
    text: textOf(transcript.segments),
    usage: {
      type: 'tokens',
      input_tokens: input,
      input_token_details: { audio_tokens: input, text_tokens: 0 },
      output_tokens: output,
      total_tokens: input + output,
    },
  });
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

const verbose = (segment: TranscriptionSegment) => ({
  id: segment.id,
  seek: segment.seek,
  start: round(segment.start),
  end: round(segment.end),
  text: segment.text,
  tokens: segment.tokens,
  temperature: segment.temperature,
  avg_logprob: segment.averageLogprob,
  compression_ratio: segment.compressionRatio,
  no_speech_prob: segment.noSpeechProbability,
});

const rounded = ({ word, start, end }: { word: string; start: number; end: number }) => ({
  word,
  start: round(start),
  end: round(end),
});

/** An arrow would end the line of times. */
const cue = ({ start, end, text }: TranscriptionSegment, point: ',' | '.'): string =>
  `${clock(start, point)} --> ${clock(end, point)}\n${text.trim().replaceAll('-->', '->')}\n\n`;

function clock(seconds: number, point: ',' | '.'): string {
  const ms = Math.round(seconds * 1000);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')}${point}${String(ms % 1000).padStart(3, '0')}`;
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** `english`, as OpenAI names languages. */
const nameOf = (code: string): string =>
  (new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code).toLowerCase();
