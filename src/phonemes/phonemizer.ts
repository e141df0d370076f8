import { isAlphabetic, isDecimal, LETTER, LOWER, table, UPPER, WORD } from './letters.ts';
import { type Dialect, joined, phonemesOf, textOf, token, type Token } from './token.ts';
import { isCurrency, Lexicon, type Context } from './lexicon.ts';
import { partOfSpeechTagger, type TaggerTable } from './part-of-speech.ts';
import { splitSentences } from './sentences.ts';
import { isConsonant, isVowel, lengthOf, PRIMARY, withStress } from './stress.ts';
import { tokenizer, type SpecialCases } from './tokenizer.ts';
import { writtenFormReader, type WrittenForms } from './written-forms.ts';

/** Tables of the voice's package. */
export interface PhonemeTables {
  dialect: Dialect;
  tagger: TaggerTable;
  specialCases: SpecialCases;
  writtenForms: WrittenForms;
}

/** Reads a word that the lexicon does not know; null if it cannot. */
export type ReadUnknown = (word: string) => Promise<string | null>;

const SUBTOKEN = new RegExp(
  [
    `^['‘’]+`,
    `[${UPPER}](?=[${UPPER}][${LOWER}])`,
    String.raw`(?:^-)?(?:\p{Nd}?[,.]?\p{Nd})+`,
    '[-_]+',
    `['‘’]{2,}`,
    `[${LETTER}]*?(?:['‘’][${LETTER}])*?[${LOWER}](?=[${UPPER}])`,
    `[${LETTER}]+(?:['‘’][${LETTER}])*`,
    String.raw`[^${WORD}\-'‘’]`,
    `['‘’]+$`,
  ].join('|'),
  'gu',
);
const SILENT = new Set("',-._‘’/");
const PUNCTUATION = new Set(';:,.!?—…"“”');
const CLAUSE_MARKS = new Set(';:,.!?—…');
const PUNCTUATION_TAGS = new Set(['.', ',', '-LRB-', '-RRB-', '``', '""', "''", ':', '$', '#', 'NFP']);
const TAG_PHONEMES: Readonly<Record<string, string>> = {
  '-LRB-': '(',
  '-RRB-': ')',
  '``': '“',
  '""': '”',
  "''": '”',
};
/** Pieces of an unknown word: letters, a number, symbols. */
const PIECE = new RegExp(`[${LETTER}]+(?:['’][${LETTER}]+)*|\\p{Nd}+(?:[,.]\\p{Nd}+)*|[^${WORD}\\s]+`, 'gu');
const SYMBOL_PHONEMES = table(`
  / slˈæʃ, = ˈikwᵊlz, + plˈʌs, & ænd, @ æt, % pəɹsˈɛnt, # hˈæʃ, * ˈæstəɹˌɪsk, ~ tˈɪldə, ^ kˈɛɹət,
  < lˈɛs ðən, > ɡɹˈATəɹ ðən, — —
`);
/** Longer sentences are cut behind a clause, or else behind a word. Kokoro's networks read at most 510. */
const MAX_PHONEMES = 400;
const MAX_PART = MAX_PHONEMES / 4;
/** A word, or a part of a long one, such as a line of signs. */
const WORD_PART = new RegExp(String.raw`\S{1,${MAX_PART}}`, 'g');
/** Tokens of one word: finding the parts that the lexicon knows takes time with the cube of their number. */
const MAX_PARTS = 32;

type Word = [Token, ...Token[]];

const isSilent = (text: string): boolean => Array.from(text).every((c) => SILENT.has(c));

export type Phonemizer = ReturnType<typeof createPhonemizer>;

/** Turns English text into phonemes, in the alphabet of Kokoro's voices. */
export function createPhonemizer(tables: PhonemeTables, readUnknown: ReadUnknown) {
  const lexicon = new Lexicon(tables.dialect);
  const tagsOf = partOfSpeechTagger(tables.tagger);
  const tokensOf = tokenizer(tables.specialCases);
  const readForms = writtenFormReader(tables.writtenForms);
  const titles = new Set(Object.keys(tables.writtenForms.titles));

  /** @returns what precedes the word finds behind it */
  async function readWord(word: Word, behind: Context): Promise<Context> {
    const [only] = word;
    if (word.length > 1) return readParts(word, behind);
    only.phonemes ??= lexicon.read(only, behind) ?? (await readPieces(only.text));
    return contextBefore(behind, only.phonemes, only);
  }

  /** Reads the longest run of tokens at the word's end that the lexicon knows, then the rest. */
  async function readParts(word: Word, behind: Context): Promise<Context> {
    let context = behind;
    for (let left = 0, right = word.length; left < right;) {
      const read = readRun(word.slice(left, right), context);
      if (read) {
        context = read;
        right = left;
        left = 0;
      } else if (left + 1 < right) left++;
      else {
        right--;
        left = 0;
        const last = word[right];
        if (!last || last.phonemes !== null) continue;
        if (!isSilent(last.text)) {
          const phonemes = await readPieces(textOf(word));
          for (const [at, each] of word.entries()) each.phonemes = at === 0 ? phonemes : '';
          return context;
        }
        last.phonemes = '';
      }
    }
    resolve(word);
    return context;
  }

  /** @returns the context before the run; null if the lexicon does not know it as one word */
  function readRun(tokens: readonly Token[], context: Context): Context | null {
    const [head, ...others] = tokens;
    if (!head || tokens.some(({ phonemes, alias }) => phonemes !== null || alias !== null)) return null;
    const run = joined([head, ...others]);
    const phonemes = lexicon.read(run, context);
    if (phonemes === null) return null;
    head.phonemes = phonemes;
    for (const each of others) each.phonemes = '';
    return contextBefore(context, phonemes, run);
  }

  /** Reads letters, numbers and symbols one after another, as the lexicon lacks the whole. */
  async function readPieces(text: string): Promise<string> {
    const read: string[] = [];
    for (const [piece] of text.matchAll(PIECE)) {
      const phonemes = /^\p{Nd}/u.test(piece)
        ? lexicon.number(piece, null, false)
        : isAlphabetic(piece[0] ?? '')
          ? await readUnknown(piece)
          : Array.from(piece, (c) => SYMBOL_PHONEMES[c] ?? '').join('');
      if (phonemes) read.push(phonemes);
    }
    return read.join(' ');
  }

  return {
    sentences: (text: string): string[] => splitSentences(text, titles),
    /** @returns the sentence's phonemes, in pieces that a voice can speak at once; none if nothing in it can be read */
    async phonemes(sentence: string): Promise<string[]> {
      const tokens = tokensOf(readForms(sentence));
      const tags = tagsOf(tokens.map(({ text }) => text));
      const words = toWords(tokens.map(({ text, spaced }, at) => token(text, tags[at] ?? 'NN', spaced)));
      let context: Context = { vowel: null, to: false };
      // From the end: how "the" and "to" are read depends on the next word.
      for (const word of words.toReversed()) context = await readWord(word, context);
      const all = words
        .map(
          (word) =>
            phonemesOf(word).replaceAll('ɾ', 'T').replaceAll('ʔ', 't') + (word.at(-1)?.spaced ? ' ' : ''),
        )
        .join('')
        .trim();
      return /[\p{Ll}\p{Lu}]/u.test(all) ? cut(all) : [];
    },
  };
}

/** Splits tokens at capitals, digits and hyphens, and groups what is written without a space. */
function toWords(tokens: readonly Token[]): Word[] {
  const words: Word[] = [];
  /** Whether the next token belongs to the last word. */
  let isOpen = false;
  for (const part of withAmounts(tokens.map(partsOf))) {
    const word = words.at(-1);
    const isRead = part.alias !== null || part.phonemes !== null;
    if (!isRead && isOpen && word && word.length < MAX_PARTS) {
      part.isHead = false;
      word.push(part);
    } else words.push([part]);
    isOpen = !isRead && !part.spaced;
  }
  return words;
}

/** Reads punctuation, and gives numbers behind a currency sign its name. */
function withAmounts(tokens: readonly Token[][]): Token[] {
  let currency: string | null = null;
  for (const [at, parts] of tokens.entries())
    for (const [index, part] of parts.entries()) {
      part.phonemes = fixedPhonemes(part);
      if (part.tag === '$' && isCurrency(part.text)) currency = part.text;
      else if (part.phonemes !== null) continue;
      else if (currency === null) {
        if (part.text === '2' && isBetweenLetters(parts, index)) part.alias = 'to';
      } else if (part.tag !== 'CD') currency = null;
      else if (index + 1 === parts.length && tokens[at + 1]?.[0]?.tag !== 'CD') part.currency = currency;
    }
  return tokens.flat();
}

function partsOf(whole: Token): Token[] {
  const texts = Array.from(whole.text.matchAll(SUBTOKEN), ([text]) => text);
  const parts = (texts.length > 0 ? texts : [whole.text]).map((text) => token(text, whole.tag, false));
  const last = parts.at(-1);
  if (last) last.spaced = whole.spaced;
  return parts;
}

/** Phonemes of dashes, punctuation and currency signs; these are read behind the number. */
function fixedPhonemes({ tag, text }: Token): string | null {
  if (tag === '$' && isCurrency(text)) return '';
  if (tag === ':' && (text === '-' || text === '–')) return '—';
  if (!PUNCTUATION_TAGS.has(tag) || /^[a-z]+$/i.test(text)) return null;
  return (
    TAG_PHONEMES[tag] ??
    Array.from(text)
      .filter((c) => PUNCTUATION.has(c))
      .join('')
  );
}

/** "A2B" */
const isBetweenLetters = (parts: readonly Token[], at: number): boolean =>
  at > 0 && isAlphabetic((parts[at - 1]?.text.at(-1) ?? '1') + (parts[at + 1]?.text[0] ?? '1'));

function contextBefore(behind: Context, phonemes: string, { text, tag }: Token): Context {
  const first = Array.from(phonemes).find((c) => isVowel(c) || isConsonant(c) || CLAUSE_MARKS.has(c));
  return {
    vowel: first === undefined ? behind.vowel : CLAUSE_MARKS.has(first) ? null : isVowel(first),
    to: text === 'to' || text === 'To' || (text === 'TO' && (tag === 'TO' || tag === 'IN')),
  };
}

const kindOf = (c: string): string => (isAlphabetic(c) ? 'letter' : isDecimal(c) ? 'digit' : 'other');

/** Gives a word of several tokens spaces, or one main stress. */
function resolve(word: Word): void {
  const text = textOf(word);
  const kinds = new Set(
    Array.from(text)
      .filter((c) => !SILENT.has(c))
      .map(kindOf),
  );
  const isSpaced = /[ /]/.test(text) || kinds.size > 1;
  for (const [at, each] of word.entries()) {
    if (each.phonemes === null) {
      if (at === word.length - 1 && CLAUSE_MARKS.has(each.text)) each.phonemes = each.text;
      else if (isSilent(each.text)) each.phonemes = '';
    } else if (at > 0) each.prespaced = isSpaced;
  }
  if (isSpaced) return;
  const read = word
    .filter((each): each is Token & { phonemes: string } => !!each.phonemes)
    .map((each, at) => ({
      each,
      at,
      isStressed: each.phonemes.includes(PRIMARY),
      length: lengthOf(each.phonemes),
    }));
  const weaken = ({ each }: (typeof read)[number]): void => {
    each.phonemes = withStress(each.phonemes, -0.5);
  };
  const [first, second] = read;
  if (first && second && read.length === 2 && first.each.text.length === 1) return weaken(second);
  const stressed = read.filter(({ isStressed }) => isStressed).length;
  if (read.length < 2 || stressed <= Math.floor((read.length + 1) / 2)) return;
  read
    .toSorted((a, b) => Number(a.isStressed) - Number(b.isStressed) || a.length - b.length || a.at - b.at)
    .slice(0, Math.floor(read.length / 2))
    .forEach(weaken);
}

/** Cuts behind clauses, then behind words, so that no piece is too long for a voice. */
function cut(phonemes: string): string[] {
  const pieces = (parts: readonly string[], most = MAX_PHONEMES): string[] =>
    parts.reduce<string[]>((all, part) => {
      const last = all.at(-1);
      if (last !== undefined && last.length + 1 + part.length <= most)
        all[all.length - 1] = `${last} ${part}`;
      else all.push(part);
      return all;
    }, []);
  if (phonemes.length <= MAX_PHONEMES) return [phonemes];
  // Words without clauses may be a long number. Until a piece is spoken, its job can be neither aborted nor paused.
  return pieces(phonemes.split(/(?<=[,;:—])\s+/)).flatMap((piece) =>
    piece.length <= MAX_PHONEMES ? [piece] : pieces(piece.match(WORD_PART) ?? [], MAX_PART),
  );
}
