const words = 'the sea is wide and a small boat goes far over cold green water under stars'.split(' ');

/** `count` texts of `fewest` to `most` words, each a token of MiniLM, which has two more around a text. */
export function texts(count: number, fewest: number, most: number): string[] {
  let state = 42;
  const next = (below: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    // The low bits of such a generator repeat soon.
    return Math.floor((state / 2147483648) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: fewest + next(most - fewest + 1) }, () => words[next(words.length)]).join(' '),
  );
}
