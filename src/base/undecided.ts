/** Length of the longest end of `text` that begins one of the sequences, and may become a whole one. */
export function undecidedLength(text: string, sequences: readonly string[]): number {
  let longest = 0;
  for (const sequence of sequences)
    for (let length = Math.min(sequence.length - 1, text.length); length > longest; length--)
      if (text[text.length - length] === sequence[0] && text.endsWith(sequence.slice(0, length)))
        longest = length;
  return longest;
}
