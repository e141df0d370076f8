/** Control characters, and those that change the direction of text: a terminal or a page would obey them. */
const UNPRINTABLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** A text from elsewhere as part of a message: on one line, and no longer than `maxCharacters`. */
export const printable = (text: string, maxCharacters = Infinity): string => {
  const line = text
    .slice(0, maxCharacters + 1)
    .replaceAll(UNPRINTABLE, ' ')
    .trim();
  return text.length > maxCharacters ? `${line.slice(0, maxCharacters - 1)}…` : line;
};

/** Message of what was thrown, which need not be an Error. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
