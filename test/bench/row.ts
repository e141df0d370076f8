/** One line of the table: ours beside what a user would have without us, measured in turn in the same page. */
export interface Row {
  name: string;
  /** What one number of `values` is. */
  unit: 'ratio' | 'ms' | 'bytes';
  /** One value a round; a ratio is taken pair by pair, so that a drift of the machine's speed cancels out. */
  values: number[];
  goal?: { atLeast: number } | { atMost: number };
  /** The absolute figures behind a ratio, for reading alone. */
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
