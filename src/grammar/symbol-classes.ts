import { ANY, contains, type Ranges } from './code-points.ts';

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
function stretches(ranges: Ranges, indices: ReadonlyMap<number, number>): [from: number, end: number][] {
  return Array.from({ length: ranges.length / 2 }, (_, index) => {
    const [first = 0, last = 0] = ranges.slice(2 * index, 2 * index + 2);
    return [indices.get(first) ?? 0, indices.get(last + 1) ?? 0];
  });
}

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
