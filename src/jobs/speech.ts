import type { AnyJob, Timings } from './any-job.ts';
import type { ChatUsage } from './chat.ts';

/** Formats of spoken sound, as OpenAI names them. `pcm`: 16 bits, little-endian, 24,000 samples a second. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** Rate at which sound is counted as tokens. */
export const SPEECH_TOKENS_A_SECOND = 20;

export interface SpeechJob extends AnyJob {
  kind: 'speech';
  /** Text as people write it. */
  text: string;
  /** Default: the model's first voice. */
  voice?: string;
  format: SpeechFormat;
  /** 1 is the voice's own pace. */
  speed: number;
  /** How to speak, for servers. */
  instructions?: string;
  /** State of an engine that is gone, to resume from. */
  progress?: SpeechProgress;
}

/** State needed to resume a speech. */
export interface SpeechProgress {
  /** Sentences spoken so far, and pieces of the next one. */
  sentences: number;
  pieces: number;
  /** Length of their sound. */
  seconds: number;
}

/** Events of a speech, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type SpeechEvent =
  /** The job is valid: the voice exists, and the text can be spoken. */
  | { type: 'accepted'; fingerprint: string }
  /** The next part of the sound, in the job's format. `text`: the sentence that it begins, if any. Servers send neither `seconds` nor `progress`. */
  | {
      type: 'delta';
      bytes: Uint8Array<ArrayBuffer>;
      text: string;
      seconds?: number;
      progress?: SpeechProgress;
    }
  | { type: 'done'; usage: ChatUsage; timings?: Timings };
