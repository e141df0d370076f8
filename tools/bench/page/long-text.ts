/** About 6 tokens an item, the same in every run; `salt` keeps it out of the prompt cache. */
export const longText = (items: number, salt: string): string =>
  Array.from({ length: items }, (_, i) => `${salt} ${i}`).join(', ');

export const textOfTokens = (salt: string, tokens: number): string =>
  longText(Math.round(tokens / 7.3), salt);
