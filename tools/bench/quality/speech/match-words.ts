export interface SpokenWord {
  word: string;
  start: number;
  end: number;
}

const plain = ({ word }: SpokenWord): string => word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** The longest common sequence of words. */
export function matchWords(
  a: readonly SpokenWord[],
  b: readonly SpokenWord[],
): [a: SpokenWord, b: SpokenWord][] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  const same = (i: number, j: number): boolean => {
    const [first, second] = [a[i], b[j]];
    return first !== undefined && second !== undefined && plain(first) === plain(second);
  };
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = same(i, j)
        ? lengthAt(i + 1, j + 1) + 1
        : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const pairs: [SpokenWord, SpokenWord][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [first, second] = [a[i], b[j]];
    if (first && second && same(i, j)) {
      pairs.push([first, second]);
      i++;
      j++;
    } else if (lengthAt(i + 1, j) >= lengthAt(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}
