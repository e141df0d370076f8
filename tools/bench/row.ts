/** What must hold for the median. */
export type Goal = { atLeast: number } | { atMost: number };

/** One line of the table: localtext compared with the alternative, measured alternately in one run. */
export interface Row {
  name: string;
  /** How it is measured, in a sentence or two. */
  measures: string;
  /** Unit of each number in `values`. `exponent` is that of the growth; 1 is linear. */
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
  /** Labels of the plot's axes: the counted size, and the measured quantity with its unit. */
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
