/** A number before its point may be an item of a list. */
const END = /(?<!\d)[.!?…]["”’)\]]*\s|\n/g;
const SOUND = /[\p{L}\p{N}]/u;

/** @returns end of the last complete sentence of a text that still grows, at or after `from` */
export function endOfSentences(text: string, from: number): number {
  let end = from;
  for (const { 0: mark, index } of text.slice(from).matchAll(END)) end = from + index + mark.length;
  return end;
}

export const hasSound = (text: string): boolean => SOUND.test(text);
