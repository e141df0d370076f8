import type { Row } from './row.ts';

/** Sizes, and what was measured at each in every round. */
export type Points = { x: number; values: number[] }[];

/** A row of a growth, with the goal that it is linear at most. */
export function growthRow(name: string, points: Points): Row {
  const rounds = Math.min(...points.map(({ values }) => values.length));
  const values = Array.from({ length: rounds }, (_, round) =>
    exponent(points.map((point) => ({ x: point.x, y: point.values[round] ?? Number.NaN }))),
  );
  // Linear is 1; the rest is for noise.
  return { name, unit: 'exponent', values, goal: { atMost: 1.1 } };
}

/**
 * Slope of the line through the logarithms, by least squares, of the larger half of the sizes: among the small ones what
 * every request costs would hide the growth.
 */
function exponent(points: { x: number; y: number }[]): number {
  const least = Math.sqrt(Math.max(...points.map(({ x }) => x)));
  const logs = points.filter(({ x }) => x >= least).map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (pick: (log: { x: number; y: number }) => number): number =>
    logs.reduce((sum, log) => sum + pick(log), 0) / logs.length;
  const x = mean((log) => log.x);
  const y = mean((log) => log.y);
  return mean((log) => (log.x - x) * (log.y - y)) / mean((log) => (log.x - x) ** 2);
}
