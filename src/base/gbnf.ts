/** Writes a text as a terminal of llama.cpp's grammars. */
export const literal = (text: string): string => `"${Array.from(text, literalCharacter).join('')}"`;

/** Writes a character for use within a terminal. */
function literalCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '"' || character === '\\') return `\\${character}`;
  return code < 0x20 || code === 0x7f ? `\\x${code.toString(16).padStart(2, '0')}` : character;
}
