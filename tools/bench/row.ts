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

/** Figures by their name and unit, with a value for each round. */
type Figures<Name extends string = string> = Record<Name, number[]>;

/**
 * Measures the sides one after another, in the other order every second round.
 * @param warmsUp whether to measure a first round, -1, that does not count
 */
export async function inTurn<Name extends string>(
  rounds: number,
  sides: Record<Name, (round: number) => Promise<number>>,
  warmsUp = false,
): Promise<Figures<Name>> {
  const names = Object.keys(sides) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Figures<Name>;
  for (let round = warmsUp ? -1 : 0; round < rounds; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const value = await sides[name](round);
      if (round >= 0) figures[name].push(value);
    }
  return figures;
}

/** Compares the first two figures pair by pair, so that a drift of the machine's speed cancels out. */
const paired =
  (unit: Row['unit'], compare: (a: number, b: number) => number) =>
  (name: string, detail: Figures, goal?: Goal): Row => {
    const [of = [], to = []] = Object.values(detail);
    const values = of.map((value, round) => compare(value, to[round] ?? Number.NaN));
    return { name, unit, values, ...(goal && { goal }), detail };
  };

/** A row of the first figures over the second ones. */
export const ratio = paired('ratio', (a, b) => a / b);

/** A row of the first figures less the second ones, in milliseconds. */
export const difference = paired('ms', (a, b) => a - b);
