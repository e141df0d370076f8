import type { ChatUsage, Cue, TimedWord, Transcript, TranscriptionJob, TranscriptionSegment } from '#jobs';
import { dataEvent, JSON_TYPE } from '../http/response.ts';
import type { Format } from './transcription-form.ts';

/**
 * Content type of a format. A server's own type is not passed on: it could make its text a page of this
 * origin.
 */
export function contentTypeOf(format: Format): string {
  if (format === 'json' || format === 'verbose_json') return JSON_TYPE;
  return format === 'vtt' ? 'text/vtt; charset=utf-8' : 'text/plain; charset=utf-8';
}

export const textOf = (transcript: Transcript): string =>
  'answer' in transcript
    ? transcript.answer.text
    : transcript.segments
        .map(({ text }) => text)
        .join('')
        .trim();

/** The body of an answer that is not streamed. */
export function formatTranscript(
  format: Format,
  transcript: Transcript,
  job: Pick<TranscriptionJob, 'task' | 'times'>,
): string {
  const { segments: cues = [] } = 'answer' in transcript ? transcript.answer : transcript;
  switch (format) {
    case 'text':
      return `${textOf(transcript).trimEnd()}\n`;
    case 'srt':
      return cues.map((each, at) => `${at + 1}\n${cue(each, ',')}`).join('');
    case 'vtt':
      return `WEBVTT\n\n${cues.map((each) => cue(each, '.')).join('')}`;
    default:
      return JSON.stringify('answer' in transcript ? transcript.answer : objectOf(format, transcript, job));
  }
}

/** The event for the next part of the text. Empty: nothing is sent. */
export const deltaEvent = (delta: string): string =>
  delta === '' ? '' : dataEvent({ type: 'transcript.text.delta', delta });

export const doneEvent = (
  text: string,
  { promptTokens: input, completionTokens: output }: ChatUsage,
): string =>
  dataEvent({
    type: 'transcript.text.done',
    text,
    usage: {
      type: 'tokens',
      input_tokens: input,
      input_token_details: { audio_tokens: input, text_tokens: 0 },
      output_tokens: output,
      total_tokens: input + output,
    },
  });

function objectOf(
  format: 'json' | 'verbose_json',
  transcript: Exclude<Transcript, { answer: unknown }>,
  { task, times }: Pick<TranscriptionJob, 'task' | 'times'>,
): object {
  const { segments, seconds, language } = transcript;
  const text = textOf(transcript);
  const usage = { type: 'duration', seconds: Math.ceil(seconds) };
  if (format === 'json') return { text, usage };
  return {
    task,
    // OpenAI translates only into English.
    language: task === 'translate' ? 'english' : nameOf(language),
    duration: round(seconds),
    text,
    ...(times.includes('segment') && { segments: segments.map(verbose) }),
    ...(times.includes('word') && { words: segments.flatMap(({ words = [] }) => words.map(rounded)) }),
    usage,
  };
}

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

const rounded = ({ word, start, end }: TimedWord) => ({ word, start: round(start), end: round(end) });

/** Formats a cue. An arrow in the text would end the line of times, and an empty line the cue. */
const cue = ({ start, end, text }: Cue, point: ',' | '.'): string =>
  `${clock(start, point)} --> ${clock(end, point)}\n${linesOf(text).join('\n').replaceAll('-->', '->')}\n\n`;

const linesOf = (text: string): string[] =>
  text
    .split(/[\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Maximum time of a cue: 99 hours. Players read no longer one, nor one before the start, which a server may send. */
const MAX_CUE_MS = 359_999_999;

function clock(seconds: number, point: ',' | '.'): string {
  const ms = Math.min(Math.max(0, Math.round(seconds * 1000)), MAX_CUE_MS);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')}${point}${String(ms % 1000).padStart(3, '0')}`;
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** Whisper's names of languages that differ from the browser's. */
const NAMES: Record<string, string> = {
  bn: 'bengali',
  mi: 'maori',
  my: 'myanmar',
  nn: 'nynorsk',
  tl: 'tagalog',
};

/** The language's English name in lower case, as OpenAI writes it: `english`. */
const nameOf = (code: string): string =>
  NAMES[code] ?? (new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code).toLowerCase();
