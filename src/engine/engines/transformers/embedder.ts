/** The model itself, as far as batching needs it. */
export interface Embedder {
  /** Token ids with the special ones that the model expects. */
  tokenize(text: string): number[];
  /** The same for ids from a client; null when one of them is no token of this model. */
  wrap(ids: readonly number[]): number[] | null;
  /** One L2-normalised vector for each sequence. One call at a time. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]>;
  dispose(): Promise<void>;
}
