/**
 * Tokens of a batch, padding included. On the CPU padding costs as much as text, and 512 were quickest. On a GPU each
 * batch costs its launches: docs/decisions/gpu.md.
 */
export const BATCH_TOKENS = { wasm: 512, webgpu: 2048 };

export interface Sequence {
  readonly ids: readonly number[];
}

export interface BatchLimits {
  /** Padding included. */
  tokens?: number;
  sequences?: number;
}

/**
 * Takes the next batch out of the waiting sequences: around the one at `seed`, those of the most alike length, so
 * that there is little padding. At least one; more only while the padded batch stays within the limits.
 */
export function takeBatch<S extends Sequence>(
  waiting: S[],
  seed: S,
  { tokens = BATCH_TOKENS.wasm, sequences = Number.POSITIVE_INFINITY }: BatchLimits = {},
): S[] {
  const distance = ({ ids }: S) => Math.abs(ids.length - seed.ids.length);
  const candidates = waiting.filter((each) => each !== seed).toSorted((a, b) => distance(a) - distance(b));
  const batch = [seed];
  let longest = seed.ids.length;
  for (const candidate of candidates) {
    const padded = Math.max(longest, candidate.ids.length) * (batch.length + 1);
    if (padded > tokens || batch.length >= sequences) break;
    batch.push(candidate);
    longest = Math.max(longest, candidate.ids.length);
  }
  const taken = new Set(batch);
  const rest = waiting.filter((each) => !taken.has(each));
  waiting.splice(0, waiting.length, ...rest);
  return batch;
}
