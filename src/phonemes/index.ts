export { Phonemizer, type PhonemeTables, type ReadUnknown } from './phonemizer.ts';
export { findUnspeakable, toSpeakable } from './speakable.ts';
