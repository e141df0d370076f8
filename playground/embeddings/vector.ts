export const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

const norm = (a: readonly number[]): number => Math.sqrt(dot(a, a));
const scaled = (a: readonly number[], factor: number): number[] => a.map((value) => value * factor);
const minus = (a: readonly number[], b: readonly number[]): number[] =>
  a.map((value, index) => value - (b[index] ?? 0));

/**
 * The two directions in which the vectors differ most, by power iteration; each vector's place along them.
 * Fine for the hundreds of texts that a page shows.
 */
export function project(vectors: readonly (readonly number[])[]): { x: number; y: number }[] {
  const mean = centre(vectors);
  const centred = vectors.map((vector) => minus(vector, mean));
  const first = principal(centred);
  const rest = centred.map((vector) => minus(vector, scaled(first, dot(vector, first))));
  const second = principal(rest);
  return centred.map((vector) => ({ x: dot(vector, first), y: dot(vector, second) }));
}

function centre(vectors: readonly (readonly number[])[]): number[] {
  const length = vectors[0]?.length ?? 0;
  const sum = Array.from({ length }, (_, index) =>
    vectors.reduce((total, vector) => total + (vector[index] ?? 0), 0),
  );
  return scaled(sum, 1 / Math.max(1, vectors.length));
}

const ITERATIONS = 60;

function principal(rows: readonly (readonly number[])[]): number[] {
  // The longest row is never at right angles to all others, as a fixed start could be.
  let direction = [...(rows.toSorted((a, b) => norm(b) - norm(a))[0] ?? [])];
  for (let step = 0; step < ITERATIONS; step++) {
    const next = direction.map(() => 0);
    for (const row of rows) {
      const weight = dot(row, direction);
      for (const [index, value] of row.entries()) next[index] = (next[index] ?? 0) + weight * value;
    }
    const length = norm(next);
    if (length === 0) break;
    direction = scaled(next, 1 / length);
  }
  return direction;
}
