import type { AnyJob } from './any-job.ts';
import type { ChatUsage } from './chat.ts';

export type Granularity = 'segment' | 'word';

export interface TranscriptionJob extends AnyJob {
  kind: 'transcription';
  /** `translate`: into English. */
  task: 'transcribe' | 'translate';
  /** A file of sound, in any format: the engine decodes it. */
  file: Blob;
  /** Language code, such as `en`. Absent: the engine detects it. */
  language?: string;
  /** Text in whose style, and with whose names, the transcript begins. */
  prompt?: string;
  temperature?: number;
  /** Times that the answer has. Empty: text alone. */
  times: readonly Granularity[];
  /** Whether a server is asked for a stream. The device yields text as it is ready in any case. */
  stream: boolean;
  /** The form's other fields, for servers. */
  others: readonly (readonly [name: string, value: string])[];
  /** State of an engine that is gone, to resume from. */
  progress?: TranscriptionProgress;
}

/** State needed to resume a transcription. */
export interface TranscriptionProgress {
  /** Segments that are finished. */
  segments: TranscriptionSegment[];
  /** Seconds of sound that have been transcribed. */
  position: number;
  /** Code of the language: `en`. */
  language: string;
  /** Tokens of the text so far that the next window sees. */
  previous: number[];
}

/** Times in seconds of the whole file. */
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

/** A part of a text that is spoken at one time. */
export type Cue = Pick<TranscriptionSegment, 'start' | 'end' | 'text'>;

export type Transcript =
  | { language: string; seconds: number; segments: TranscriptionSegment[] }
  /** A server's answer in OpenAI's JSON, with the fields that only this server has. */
  | { answer: { text: string; segments?: Cue[] | undefined; [field: string]: unknown } };

/** What an engine yields for a transcription, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type TranscriptionEvent =
  /** The job is valid and the file is sound. */
  | { type: 'accepted'; fingerprint: string }
  /** `text` is the next part of the transcript. `progress`: absent from a server, whose work no other engine can resume. */
  | { type: 'delta'; text: string; progress?: TranscriptionProgress }
  | {
      type: 'done';
      transcript: Transcript;
      usage: ChatUsage;
      timings: { queueMs: number; computeMs: number };
    };
