const END = /(?<=[.!?…])["”’)\]]*\s+(?=\S)/gu;

/** Longer sentences are cut between words: until a sentence is read, its job can be neither aborted nor paused. */
const MAX_SENTENCE = 500;
const PIECE = new RegExp(String.raw`(?=\S).{1,${MAX_SENTENCE}}(?!\S)|\S{1,${MAX_SENTENCE}}`, 'gsu');

/** False after a title, an initial or "No." ("Dr. Smith", "J. K. Rowling", "No. 5"), and before a lower-case word. */
function endsSentence(text: string, end: number, next: string, titles: ReadonlySet<string>): boolean {
  if (next !== next.toUpperCase()) return false;
  if (text[end - 1] !== '.') return true;
  const word = text.slice(text.lastIndexOf(' ', end - 1) + 1, end - 1).replace(/^[("“'‘]+/, '');
  if (/^Nos?$/.test(word) && /\d/.test(next)) return false;
  return !titles.has(word) && !/^\p{Lu}$/u.test(word);
}

/** Splits a text into sentences, of at most 500 characters. A line break ends one, too. */
export const splitSentences = (text: string, titles: ReadonlySet<string>): string[] =>
  text
    .split('\n')
    .flatMap((line) => {
      const paragraph = line.trim();
      const sentences: string[] = [];
      let start = 0;
      for (const { 0: gap, index } of paragraph.matchAll(END)) {
        const next = paragraph[index + gap.length] ?? '';
        if (!endsSentence(paragraph, index, next, titles)) continue;
        sentences.push(paragraph.slice(start, index));
        start = index + gap.length;
      }
      return [...sentences, paragraph.slice(start)];
    })
    .flatMap((sentence) => sentence.match(PIECE) ?? []);
