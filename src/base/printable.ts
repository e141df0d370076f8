/** Control characters, and those that change the direction of text: a terminal or a page would obey them. */
const UNPRINTABLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** Makes an untrusted text safe within a message: on one line, and at most `maxCharacters` long. */
export const printable = (text: string, maxCharacters = Infinity): string => {
  const line = text
    .slice(0, maxCharacters + 1)
    .replaceAll(UNPRINTABLE, ' ')
    .trim();
  return text.length > maxCharacters ? `${line.slice(0, maxCharacters - 1)}…` : line;
};

/** Message of a thrown value, which need not be an Error. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
