export { createPhonemizer, type PhonemeTables, type Phonemizer } from './phonemizer.ts';
export { findUnspeakable, toSpeakable } from './speakable.ts';
