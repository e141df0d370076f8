/** Sets of code points as sorted, disjoint ranges: `[first, last, first, last, …]`. */
export type Ranges = readonly number[];

const MAX_CODE_POINT = 0x10ffff;

/** Code points that a string may hold: all but halves of surrogate pairs. */
export const ANY: Ranges = [0, 0xd7ff, 0xe000, MAX_CODE_POINT];

/** Sorts ranges and joins those that meet. */
export function normalized(ranges: Ranges): Ranges {
  const pairs: [number, number][] = [];
  for (let i = 0; i + 1 < ranges.length; i += 2) pairs.push([ranges[i] ?? 0, ranges[i + 1] ?? 0]);
  pairs.sort(([a], [b]) => a - b);
  const joined: number[] = [];
  for (const [first, last] of pairs) {
    const end = joined.at(-1);
    if (end !== undefined && first <= end + 1) joined[joined.length - 1] = Math.max(end, last);
    else joined.push(first, last);
  }
  return joined;
}

export function complement(ranges: Ranges, within: Ranges = ANY): Ranges {
  const outside: number[] = [];
  for (let i = 0; i < within.length; i += 2) {
    let from = within[i] ?? 0;
    const end = within[i + 1] ?? 0;
    for (let j = 0; j < ranges.length; j += 2) {
      const [first = 0, last = 0] = [ranges[j], ranges[j + 1]];
      if (last < from || first > end) continue;
      if (first > from) outside.push(from, first - 1);
      from = last + 1;
    }
    if (from <= end) outside.push(from, end);
  }
  return outside;
}

export const intersection = (a: Ranges, b: Ranges): Ranges => complement(complement(a, b), b);

export function contains(ranges: Ranges, point: number): boolean {
  let [low, high] = [0, ranges.length / 2 - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (point < (ranges[2 * middle] ?? 0)) high = middle - 1;
    else if (point > (ranges[2 * middle + 1] ?? 0)) low = middle + 1;
    else return true;
  }
  return false;
}

const properties = new Map<string, Ranges>();

/** Code points that are matched as one text. The surrogates are exactly one such part. */
const PART = 0x800;

/** All characters, in texts by the first: 4 MB, made for the first property. */
let texts: ReadonlyMap<number, string> | undefined;

const makeTexts = (): ReadonlyMap<number, string> =>
  new Map(
    Array.from({ length: (MAX_CODE_POINT + 1) / PART }, (_, part) => part * PART)
      .filter((start) => start !== 0xd800)
      .map((start) => [start, String.fromCodePoint(...Array.from({ length: PART }, (_, at) => start + at))]),
  );

/**
 * Code points of a Unicode property, such as `L` or `Script=Greek`.
 * @throws SyntaxError for an unknown property
 */
export function ofProperty(name: string): Ranges {
  const known = properties.get(name);
  if (known) return known;
  const runs = new RegExp(`\\p{${name}}+`, 'gu');
  const ranges: number[] = [];
  texts ??= makeTexts();
  for (const [start, text] of texts) {
    const units = start > 0xffff ? 2 : 1;
    for (const { 0: run, index } of text.matchAll(runs)) {
      const first = start + index / units;
      ranges.push(first, first + run.length / units - 1);
    }
  }
  const joined = normalized(ranges);
  properties.set(name, joined);
  return joined;
}

/**
 * Divides all characters into classes by the sets that they are in.
 * @param spend counts the steps of a part of the work before it is done
 */
export function symbolClasses(sets: readonly Ranges[], spend: (steps: number) => void): Ranges[] {
  const bounds = [ANY, ...sets].flatMap((ranges) => ranges.map((bound, index) => bound + (index % 2)));
  const starts = [...new Set(bounds)].toSorted((a, b) => a - b);
  spend(starts.length);
  const indices = new Map(starts.map((start, index) => [start, index]));
  /** The class of the characters from each start to the next. */
  const classOf = starts.map(() => 0);
  let count = 1;
  for (const ranges of sets) {
    const inside = new Map<number, number>();
    for (const [from, end] of stretches(ranges, indices)) {
      spend(end - from);
      for (let at = from; at < end; at++) {
        const before = classOf[at] ?? 0;
        if (!inside.has(before)) inside.set(before, count++);
        classOf[at] = inside.get(before) ?? 0;
      }
    }
  }
  return membersOf(starts, classOf);
}

/** Indices of the first start of each range, and of the one after it. */
const stretches = (ranges: Ranges, indices: ReadonlyMap<number, number>): [from: number, end: number][] =>
  Array.from({ length: ranges.length / 2 }, (_, index) => {
    const [first = 0, last = 0] = ranges.slice(2 * index, 2 * index + 2);
    return [indices.get(first) ?? 0, indices.get(last + 1) ?? 0];
  });

function membersOf(starts: readonly number[], classOf: readonly number[]): Ranges[] {
  const classes = new Map<number, number[]>();
  for (const [index, first] of starts.entries()) {
    const next = starts[index + 1];
    if (next === undefined || !contains(ANY, first)) continue;
    const id = classOf[index] ?? 0;
    const ranges = classes.get(id) ?? [];
    ranges.push(first, next - 1);
    classes.set(id, ranges);
  }
  return [...classes.values()];
}
