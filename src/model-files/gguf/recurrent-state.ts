/** Reads a size of the architecture; 0 where the file has none, or one for each layer. */
type SizeOf = (name: string, max: number) => number;

const MAX_WIDTH = 2 ** 20;
const FLOAT_BYTES = 4;
/** Tokens that an RWKV layer shifts. */
const DEFAULT_SHIFT = 2;

/**
 * Bytes of the state that a layer without attention keeps of a conversation, whatever its length. From llama.cpp's
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
