import type { Entry } from './token.ts';
import { capitalized } from './letters.ts';
import { PRIMARY, SECONDARY } from './stress.ts';

/** A function word where it stands. */
export interface WordUse {
  word: string;
  tag: string;
  stress: number | null;
  /** Whether a vowel follows; null at the end of a clause. */
  vowel: boolean | null;
  /** Whether the word "to" follows. */
  to: boolean;
}

interface Readers {
  letters: (word: string) => string | null;
  listed: (word: string) => Entry | undefined;
}

const inCapitals = ({ word }: WordUse): boolean => word === word.toUpperCase();
const isNoun = ({ tag }: WordUse): boolean => tag.startsWith('NN');
const text = (entry: Entry | undefined): string | null => (typeof entry === 'string' ? entry : null);

/** Words whose reading depends on their part of speech and on what follows. Null: the lexicon reads them. */
const READINGS: Readonly<Record<string, (use: WordUse, readers: Readers) => string | null>> = {
  a: ({ tag }) => (tag === 'DT' ? 'ɐ' : 'ˈA'),
  am: (use, { letters, listed }) => {
    if (isNoun(use)) return letters(use.word);
    const isWeak = use.vowel !== null && use.word === 'am' && (use.stress ?? 0) <= 0;
    return isWeak ? 'ɐm' : text(listed('am'));
  },
  an: (use, { letters }) => (inCapitals(use) && isNoun(use) ? letters(use.word) : 'ɐn'),
  i: ({ word, tag }) => (word === 'I' && tag === 'PRP' ? `${SECONDARY}I` : null),
  by: ({ tag }) => (/^(ADV|RB)/.test(tag) ? 'bˈI' : null),
  to: (use, { listed }) => {
    if (inCapitals(use) && use.tag !== 'TO' && use.tag !== 'IN') return null;
    if (use.vowel === null) return text(listed('to'));
    return use.vowel ? 'tʊ' : 'tə';
  },
  in: (use) => {
    if (inCapitals(use) && use.tag === 'NNP') return null;
    return `${use.vowel === null || use.tag !== 'IN' ? PRIMARY : ''}ɪn`;
  },
  the: (use) => {
    if (inCapitals(use) && use.tag !== 'DT') return null;
    return use.vowel === true ? 'ði' : 'ðə';
  },
  used: ({ tag, to }, { listed }) => {
    const used = listed('used');
    if (typeof used !== 'object') return null;
    return ((tag === 'VBD' || tag === 'JJ') && to ? used['VBD'] : used['DEFAULT']) ?? null;
  },
};

export function readFunctionWord(use: WordUse, readers: Readers): string | null {
  const { word } = use;
  const lower = word.toLowerCase();
  const isPlain = word === lower || word === capitalized(lower) || word === word.toUpperCase();
  return isPlain && Object.hasOwn(READINGS, lower) ? (READINGS[lower]?.(use, readers) ?? null) : null;
}
