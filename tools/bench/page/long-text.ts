/** About 6 tokens an item, the same in every run; `salt` keeps it out of the prompt cache. */
export const longText = (items: number, salt: string): string =>
  Array.from({ length: items }, (_, i) => `${salt} ${i}`).join(', ');
