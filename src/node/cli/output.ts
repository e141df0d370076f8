/** Text without control characters but line breaks: a name in it could otherwise change the terminal. */
export const printable = (text: string): string =>
  text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** A name or a path for a message. */
export const shown = (name: string): string => printable(name).replaceAll('\n', '\\n');

export const print = (text: string): void => console.log(printable(text));

export const complain = (text: string): void => console.error(printable(text));
