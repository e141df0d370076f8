import { signal } from '@preact/signals';
import { preference } from '../preferences.ts';

export interface Spoken {
  /** What is spoken: a turn's id, `VIEW_TEXT` or `TALK`. */
  id: string;
  /** Sentences whose sound has arrived. */
  lines: readonly string[];
  /** Index of the sentence that is heard; -1 before the first. */
  current: number;
  paused: boolean;
}

/** The text of the view Speech. */
export const VIEW_TEXT = 'view';
/** Replies of the conversation by voice. */
export const TALK = 'talk';

/** The speech that plays; null in silence. */
export const spoken = signal<Spoken | null>(null);
export const speechProblem = signal<string | null>(null);
/** Voice '' is the model's first. */
export const voiceSettings = preference('voice-settings', { voice: '', speed: 1, format: 'mp3' });
