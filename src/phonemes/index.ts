export { Phonemizer, type PhonemeTables } from './phonemizer.ts';
export { findUnspeakable, toSpeakable } from './speakable.ts';
