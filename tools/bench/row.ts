/** What must hold for the median. */
export type Goal = { atLeast: number } | { atMost: number };

/** One line of the table: ours beside what a user would have without us, measured in turn in one run. */
export interface Row {
  name: string;
  /** How it is measured, in a sentence or two. */
  measures: string;
  /** What one number of `values` is. `exponent`: of the growth, 1 is linear. */
  unit: 'ratio' | 'ms' | 'KB' | 'MB' | 'exponent';
  /** One value a round. */
  values: number[];
  goal?: Goal;
  /** The absolute figures behind the values, for reading alone. */
  detail?: Record<string, number[]>;
  series?: Series;
}

/** How something grows: `values` of each point one a round. */
export interface Series {
  /** What is counted, and what is measured with its unit, as a plot's axes say it. */
  x: string;
  y: string;
  points: { x: number; values: number[] }[];
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

/** Pair by pair, so that a drift of the machine's speed cancels out. */
export const quotients = (over: number[], under: number[]): number[] =>
  over.map((value, index) => value / (under[index] ?? Number.NaN));

export const differences = (from: number[], taken: number[]): number[] =>
  from.map((value, index) => value - (taken[index] ?? Number.NaN));
