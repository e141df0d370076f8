/** Below this a chat is of little use, and the next variant of more. */
export const MIN_CONTEXT = 1024;

/** The largest context first, then halves of it, for devices without the memory. */
export function halvedLengths(largest: number): number[] {
  const lengths = [largest];
  for (let length = largest / 2; length >= MIN_CONTEXT; length /= 2) lengths.push(Math.floor(length));
  return lengths;
}
