export { Phonemizer, type PhonemeTables, type ReadUnknown } from './phonemizer.ts';
