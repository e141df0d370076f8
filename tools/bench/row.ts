/** What must hold for the median. */
export type Goal = { atLeast: number } | { atMost: number };

/** One line of the table: localtext compared with the alternative, measured alternately in one run. */
export interface Row {
  name: string;
  /** Unit of each number in `values`. `exponent` is that of the growth; 1 is linear. */
  unit: 'ratio' | 'ms' | 'KB' | 'MB' | 'exponent';
  /** One value a round. */
  values: number[];
  goal?: Goal;
  /** The figures behind the values, by their name and unit: `raw, ms`. */
  detail?: Record<string, number[]>;
}

export interface Summary {
  median: number;
  min: number;
  max: number;
}

export function summarize(values: number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (position: number): number => sorted[position] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/** Null: the row has no goal. */
export function met({ goal, values }: Row): boolean | null {
  if (goal === undefined) return null;
  const { median } = summarize(values);
  return 'atLeast' in goal ? median >= goal.atLeast : median <= goal.atMost;
}

/** One side of a comparison: its name with the unit, and a value for each round. */
type Side = Record<string, number[]>;

/** Compares pair by pair, so that a drift of the machine's speed cancels out. */
const paired =
  (unit: Row['unit'], compare: (a: number, b: number) => number) =>
  (name: string, first: Side, second: Side, goal?: Goal, more: Side = {}): Row => {
    const [of = []] = Object.values(first);
    const [to = []] = Object.values(second);
    const values = of.map((value, round) => compare(value, to[round] ?? Number.NaN));
    return { name, unit, values, ...(goal && { goal }), detail: { ...first, ...second, ...more } };
  };

/** A row of the first side's values over the second's. */
export const ratio = paired('ratio', (a, b) => a / b);

/** A row of the first side's values less the second's, in milliseconds. */
export const difference = paired('ms', (a, b) => a - b);
