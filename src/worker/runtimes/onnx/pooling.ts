import type { TransformersVariant } from '../../../catalog/catalog.ts';

/** One L2-normalised vector from a sequence's states, of which the first `length` belong to tokens. */
export function pool(
  states: Float32Array,
  length: number,
  width: number,
  pooling: TransformersVariant['pooling'],
): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(width);
  const from = pooling === 'last_token' ? length - 1 : 0;
  const to = pooling === 'cls' ? 1 : length;
  for (let token = from; token < to; token++) {
    for (let i = 0; i < width; i++) vector[i] = (vector[i] ?? 0) + (states[token * width + i] ?? 0);
  }
  let sum = 0;
  for (const x of vector) sum += x * x;
  // A mean's divisor falls out with the length.
  const norm = Math.sqrt(sum) || 1;
  for (let i = 0; i < width; i++) vector[i] = (vector[i] ?? 0) / norm;
  return vector;
}
