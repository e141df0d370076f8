import type { TimedWord } from '#jobs';

const PUNCTUATION = /^(?:\s|(?![%&#@*])\p{P})+|(?:\s|(?![%&#@*])\p{P})+$/gu;
const trim = (text: string): string => text.replaceAll(PUNCTUATION, '');
/** Languages without spaces between words. Each character counts as a word. */
const WITHOUT_SPACES = new Set(['zh', 'yue', 'ja', 'th', 'lo', 'my']);
/** Maximum length of a segment's first and last word as a multiple of the median. Silence may be counted to them. */
const MAX_OF_MEDIAN = 2;
const MAX_MEDIAN_SECONDS = 0.7;

/**
 * Times the words of one segment. As in OpenAI's answers, words have no surrounding punctuation.
 * @param starts start of each token in seconds, and the end of the last
 * @param textOf decodes tokens to text; timestamps have none
 */
export function timeWords(
  tokens: readonly number[],
  starts: readonly number[],
  textOf: (tokens: readonly number[]) => string,
  language: string,
): TimedWord[] {
  const words: TimedWord[] = [];
  const isSpaced = !WITHOUT_SPACES.has(language);
  let from = 0;
  for (let next = 1; next <= tokens.length; next++) {
    const piece = textOf(tokens.slice(from, next));
    // A token may be part of a character.
    if (piece.includes('\uFFFD') && next < tokens.length) continue;
    const [start = 0, end = 0] = [starts[from], starts[next]];
    const open = words.at(-1);
    if (!open || !isSpaced || /^\s/.test(piece)) words.push({ word: piece, start, end });
    else {
      if (trim(open.word) === '') open.start = start;
      if (trim(piece) !== '') open.end = end;
      open.word += piece;
    }
    from = next;
  }
  const timed = words.flatMap(({ word, start, end }) => {
    const text = trim(word);
    return text === '' ? [] : [{ word: text, start, end: Math.max(start, end) }];
  });
  const lengths = timed.map(({ start, end }) => end - start).toSorted((a, b) => a - b);
  const max = Math.min(lengths[lengths.length >> 1] ?? 0, MAX_MEDIAN_SECONDS) * MAX_OF_MEDIAN;
  const [first, last] = [timed[0], timed.at(-1)];
  if (first) first.start = Math.max(first.start, first.end - max);
  if (last) last.end = Math.min(last.end, last.start + max);
  return timed;
}
