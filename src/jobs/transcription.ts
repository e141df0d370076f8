import type { AnyJob, Timings } from './any-job.ts';
import type { ChatUsage } from './chat.ts';

/**
 * Tokens of a second of sound, for `usage` and a key's limits: Whisper's encoder states. OpenAI does not document
 * how it counts.
 */
export const SOUND_TOKENS_A_SECOND = 50;

export type Granularity = 'segment' | 'word';

export interface TranscriptionJob extends AnyJob {
  kind: 'transcription';
  /** `translate` translates into English. */
  task: 'transcribe' | 'translate';
  /** Audio file in any format that the engine decodes. */
  file: Blob;
  /** Language code, such as `en`. Default: the engine detects it. */
  language?: string;
  /** Text that sets the style and the spelling of names at the transcript's start. */
  prompt?: string;
  temperature?: number;
  /** Timestamps in the answer. If empty, it has only text. */
  times: readonly Granularity[];
  /** Whether to request a stream from a server. The device always yields text as it is ready. */
  stream: boolean;
  /** The form's other fields, for servers. */
  others: readonly (readonly [name: string, value: string])[];
  /** State of an engine that is gone, to resume from. */
  progress?: TranscriptionProgress;
}

/** State needed to resume a transcription. */
export interface TranscriptionProgress {
  /** Finished segments. */
  segments: TranscriptionSegment[];
  /** Seconds of sound transcribed so far. */
  position: number;
  /** Language code, such as `en`. */
  language: string;
  /** Last tokens of the text, which the next window gets as context. */
  previous: number[];
}

/** Segment of a transcript. Times are in seconds from the file's start. */
export interface TranscriptionSegment {
  id: number;
  /** Start of its window, in hundredths of a second. */
  seek: number;
  start: number;
  end: number;
  text: string;
  tokens: number[];
  temperature: number;
  averageLogprob: number;
  compressionRatio: number;
  noSpeechProbability: number;
  /** Words with their times, if the request asks for them. */
  words?: TimedWord[];
}

export interface TimedWord {
  word: string;
  start: number;
  end: number;
}

/** Timed part of a text, such as a subtitle. */
export type Cue = Pick<TranscriptionSegment, 'start' | 'end' | 'text'>;

export type Transcript =
  | { language: string; seconds: number; segments: TranscriptionSegment[] }
  /** A server's answer in OpenAI's JSON, including the server's own fields. */
  | { answer: { text: string; segments?: Cue[] | undefined; [field: string]: unknown } };

/** Events of a transcription, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type TranscriptionEvent =
  /** The job is valid, and the file can be decoded. */
  | { type: 'accepted'; fingerprint: string }
  /** `text` is the next part of the transcript. Servers send no `progress`, as no engine can resume their work. */
  | { type: 'delta'; text: string; progress?: TranscriptionProgress }
  | { type: 'done'; transcript: Transcript; usage: ChatUsage; timings?: Timings };
