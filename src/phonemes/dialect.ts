/** A word's phonemes, or those for each part of speech. */
export type Entry = string | Record<string, string | null>;
export type Words = Record<string, Entry>;

/** Dictionaries of a dialect. */
export interface Dialect {
  /** Checked by people. */
  gold: Words;
  silver: Words;
}
