import type { AnyJob } from './any-job.ts';
import type { ChatUsage } from './chat.ts';

export interface TranscriptionJob extends AnyJob {
  kind: 'transcription';
  /** `translate`: into English. */
  task: 'transcribe' | 'translate';
  /** A file of sound, in any format: the engine decodes it. */
  file: Blob;
  /** The other fields of the request's form, as the client gave them: the engine checks them. */
  fields: [name: string, value: string][];
  /** Go on from here, where an engine that has gone away had come. */
  progress?: TranscriptionProgress;
}

/** All that the rest of a transcription depends on. */
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
  /** Where the request asks for them. */
  words?: { word: string; start: number; end: number }[];
}

/** What an engine yields for a transcription, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type TranscriptionEvent =
  /** The fields are valid and the file is sound. */
  | { type: 'accepted'; fingerprint: string; contentType: string }
  /**
   * `text`: the next part of the answer's body, in the format that the request names; it may be empty. `progress`: absent
   * from a server, where no other can go on.
   */
  | { type: 'delta'; text: string; progress?: TranscriptionProgress }
  | { type: 'done'; text: string; usage: ChatUsage; timings: { queueMs: number; computeMs: number } };
