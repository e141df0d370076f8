/** Sampling settings for every request. A request's own `min_p` and `frequency_penalty` take precedence. */
export interface VariantSampling {
  /** Number of most probable tokens to sample from. Default: all. */
  topK?: number;
  /** Drops tokens less probable than this fraction (0 to 1) of the most probable token. Default: 0. */
  minP?: number;
  /** Penalty for recent tokens, by which their scores are divided. Default: 1, which has no effect. */
  repeatPenalty?: number;
  /**
   * `frequency_penalty` (-2 to 2) for requests that set none, without a constraint and at a
   * temperature above 0. Default: 0.
   */
  frequencyPenalty?: number;
}

/** llama.cpp's defaults. Small models write nonsense without them. */
export const DEFAULT_SAMPLING = { topK: 40, minP: 0.05 };
