import type { AnyJob, Timings } from './any-job.ts';
import type { ChatUsage } from './chat.ts';

/** Number of samples a second of all speech on the device. */
export const SPEECH_SAMPLE_RATE = 24_000;

export interface SpeechJob extends AnyJob {
  kind: 'speech';
  /** Text as people write it. */
  text: string;
  voice: string;
  /** 1 is the voice's own pace. */
  speed: number;
  /** For servers: how to speak. */
  instructions?: string;
  /** State of an engine that is gone, to resume from. */
  progress?: SpeechProgress;
}

/** State needed to resume: sentences that are spoken. */
export interface SpeechProgress {
  sentences: number;
}

/** Events of a speech, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type SpeechEvent =
  /** The job is valid: the voice exists, and the text can be spoken. */
  | { type: 'accepted'; fingerprint: string }
  /** A sentence's sound: samples in [-1, 1], mono, `SPEECH_SAMPLE_RATE` a second. Includes the pause behind it. */
  | { type: 'delta'; samples: Float32Array<ArrayBuffer>; text: string; progress?: SpeechProgress }
  | { type: 'done'; usage: ChatUsage; timings?: Timings };
