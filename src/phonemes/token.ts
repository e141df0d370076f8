/** One token of a sentence, or a part of one. */
export interface Token {
  text: string;
  /** Part of speech, as Penn Treebank tags name it. */
  tag: string;
  /** Whether a space follows. */
  spaced: boolean;
  /** Null until the token is read. */
  phonemes: string | null;
  /** Whether the token begins a word. A minus sign is read at the beginning only. */
  isHead: boolean;
  /** Text to read instead. */
  alias: string | null;
  currency: string | null;
  /** Whether a space is read before the token inside its word. */
  prespaced: boolean;
}

export const token = (text: string, tag: string, spaced: boolean): Token => ({
  text,
  tag,
  spaced,
  phonemes: null,
  isHead: true,
  alias: null,
  currency: null,
  prespaced: false,
});

/** Text of tokens without the space behind the last one. */
export const textOf = (tokens: readonly Token[]): string =>
  tokens.map(({ text, spaced }, at) => text + (spaced && at < tokens.length - 1 ? ' ' : '')).join('');

const weightOf = ({ text }: Token): number =>
  Array.from(text).reduce((weight, c) => weight + (c === c.toLowerCase() ? 1 : 2), 0);

/** Joins tokens to one that is not read yet. Its tag is that of the weightiest. */
export function joined(tokens: readonly [Token, ...Token[]]): Token {
  const currencies = tokens.flatMap(({ currency }) => currency ?? []).toSorted();
  const { tag } = tokens.reduce((most, each) => (weightOf(each) > weightOf(most) ? each : most));
  const { isHead, prespaced } = tokens[0];
  const whole = token(textOf(tokens), tag, tokens.at(-1)?.spaced ?? false);
  return { ...whole, isHead, prespaced, currency: currencies.at(-1) ?? null };
}

/** Phonemes of a word's tokens, all read. */
export function phonemesOf(tokens: readonly Token[]): string {
  let all = '';
  for (const { phonemes, prespaced } of tokens) {
    if (prespaced && phonemes && all !== '' && !/\s$/.test(all)) all += ' ';
    all += phonemes ?? '';
  }
  return all;
}

/** A word's phonemes, or those for each part of speech. */
export type Entry = string | Record<string, string | null>;
export type Words = Record<string, Entry>;

/** Dictionaries of a dialect. */
export interface Dialect {
  /** Checked by people. */
  gold: Words;
  silver: Words;
}
