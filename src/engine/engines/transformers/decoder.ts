/** A language model and its tokenizer, as far as generating text needs them. */
export interface Decoder {
  /** Tokens of prompt and reply together. */
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** What is in the KV cache, in order. */
  readonly cached: readonly number[];
  /** Most tokens that one step may take: an abort waits for the step to end. */
  readonly stepTokens: number;
  /** `bare`: without the special tokens that the tokenizer would add by itself. */
  encode(text: string, options: { bare: boolean }): number[];
  /** Special tokens are left out. */
  decode(ids: readonly number[]): string;
  /** The text of one token, special or not. */
  text(id: number): string;
  /** Whether the token ends the model's turn. */
  isEnd(id: number): boolean;
  /** Computes the next tokens after those that are cached. @returns the logits after the last of them */
  step(ids: readonly number[]): Promise<Float32Array>;
  /** Empties the KV cache. */
  reset(): Promise<void>;
  dispose(): Promise<void>;
}
