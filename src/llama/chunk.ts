/** Chunk that llama.cpp's server streams. Only the fields that are read. */
export interface Chunk {
  choices?: {
    text?: string;
    finish_reason?: string | null;
    logprobs?: { content?: RawLogprob[] | null } | null;
  }[];
  /** Settings as the server parsed them, in the last chunk of a request with `verbose`. */
  __verbose?: { generation_settings?: { logit_bias?: { bias: number; token: number }[] } };
  /** Answer to an embedding request. */
  data?: { embedding: number[] }[];
  /** Answer to a reranking request. */
  score?: number;
  tokens_evaluated?: number;
  usage?: { prompt_tokens: number };
  timings?: {
    cache_n: number;
    prompt_n: number;
    prompt_ms: number;
    predicted_n: number;
    predicted_ms: number;
    /** How many drafted tokens were right. Absent where none was drafted. */
    draft_n_accepted?: number;
  };
}

export type LlamaTimings = NonNullable<Chunk['timings']>;

export interface RawLogprob {
  id?: number;
  token: string;
  logprob: number;
  bytes?: number[] | null;
  top_logprobs?: RawLogprob[];
  /** Probabilities after the sampler; replaces `top_logprobs`. */
  top_probs?: { id?: number; token: string; prob: number; bytes?: number[] | null }[];
}
