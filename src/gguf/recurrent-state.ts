/** Reads a size of the architecture; 0 if the file has none, or a list with one per layer. */
type SizeOf = (name: string, max: number) => number;

const MAX_WIDTH = 2 ** 20;
const FLOAT_BYTES = 4;
/** Number of tokens that an RWKV layer shifts, if the file does not give it. */
const DEFAULT_SHIFT = 2;

/**
 * Size of a recurrent layer's state in bytes, which does not depend on the context's length. Source: llama.cpp's
 * `n_embd_r()` and `n_embd_s()`.
 */
export function layerStateBytes(sizeOf: SizeOf): number {
  const size = (name: string): number => sizeOf(name, MAX_WIDTH);
  const width = size('embedding_length');
  const head = size('wkv.head_size');
  if (head > 0) return FLOAT_BYTES * width * ((size('token_shift_count') || DEFAULT_SHIFT) + head);
  const shortConvolution = size('shortconv.l_cache');
  if (shortConvolution > 0) return FLOAT_BYTES * width * (shortConvolution - 1);
  const [inner, state] = [size('ssm.inner_size'), size('ssm.state_size')];
  const convolution =
    Math.max(0, size('ssm.conv_kernel') - 1) * (inner + 2 * size('ssm.group_count') * state);
  return FLOAT_BYTES * (convolution + state * inner);
}
