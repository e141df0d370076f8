import { capitalized, isAlphabetic, own } from './letters.ts';

/** Weights of an averaged perceptron. */
export interface TaggerTable {
  tags: string[];
  /** Words with one tag. */
  tagdict: Record<string, string>;
  /** Words that the weights know. */
  vocab: string[];
  /** Feature → tag → weight. */
  weights: Record<string, Record<string, number>>;
}

const START = ['-START2-', '-START-'] as const;
const END = ['-END-', '-END2-'] as const;

const lastThree = (word: string): string => Array.from(word).slice(-3).join('');

function normalized(word: string): string {
  if (word.includes('-') && !word.startsWith('-')) return '!HYPHEN';
  if (/^\p{Nd}{4}$/u.test(word)) return '!YEAR';
  return /^\p{Nd}/u.test(word) ? '!DIGITS' : word.toLowerCase();
}

function shapeOf(word: string): string {
  if (isAlphabetic(word)) {
    const hasCase = word.toLowerCase() !== word.toUpperCase();
    if (hasCase && word === word.toLowerCase()) return 'x';
    if (hasCase && word === word.toUpperCase()) return Array.from(word).length > 1 ? 'XX' : 'X1';
    return hasCase && word === capitalized(word) ? 'Xx' : 'xX';
  }
  if (/^\p{Nd}+$/u.test(word)) return 'd';
  return Array.from(word)
    .slice(0, 4)
    .map((c) => (/\p{Nd}/u.test(c) ? 'd' : isAlphabetic(c) ? 'x' : c))
    .join('');
}

/** @param near the words around, the word itself at 0; `tags` has those of the words before */
function featuresOf(
  word: string,
  at: number,
  near: (offset: number) => string,
  tags: readonly string[],
): string[] {
  const before = tags.at(-1) ?? '';
  const twoBefore = tags.at(-2) ?? '';
  return [
    'b',
    `s3=${lastThree(word)}`,
    `p1=${Array.from(word)[0] ?? ''}`,
    `w=${near(0)}`,
    `sh=${shapeOf(word)}`,
    at === 0 ? 'i0' : 'i+',
    `t-1=${before}`,
    `t-2=${twoBefore}`,
    `t-12=${before},${twoBefore}`,
    `w-1=${near(-1)}`,
    `s3-1=${lastThree(near(-1))}`,
    `w-2=${near(-2)}`,
    `w+1=${near(1)}`,
    `s3+1=${lastThree(near(1))}`,
    `w+2=${near(2)}`,
  ];
}

/** Tags the tokens of a sentence with their parts of speech. */
export function partOfSpeechTagger({ tags: all, tagdict, vocab, weights }: TaggerTable) {
  const vocabulary = new Set(vocab);

  function predict(features: readonly string[]): string {
    const scores = new Map<string, number>();
    for (const feature of features)
      for (const [tag, weight] of Object.entries(own(weights, feature) ?? {}))
        scores.set(tag, (scores.get(tag) ?? 0) + weight);
    if (scores.size === 0) return 'NN';
    const scoreOf = (tag: string): number => scores.get(tag) ?? 0;
    return all.reduce((best, tag) =>
      scoreOf(tag) > scoreOf(best) || (scoreOf(tag) === scoreOf(best) && tag > best) ? tag : best,
    );
  }

  return (words: readonly string[]): string[] => {
    const known = words.map((word) => {
      const plain = normalized(word);
      return vocabulary.has(plain) ? plain : `<${shapeOf(word)}>`;
    });
    const around = [...START, ...known, ...END];
    const tags: string[] = [...START];
    for (const [at, word] of words.entries()) {
      const near = (offset: number): string => around[at + START.length + offset] ?? '';
      tags.push(own(tagdict, word) ?? predict(featuresOf(word, at, near, tags)));
    }
    return tags.slice(START.length);
  };
}
