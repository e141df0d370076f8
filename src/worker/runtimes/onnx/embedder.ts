/** The model itself, as far as batching needs it. */
export interface Embedder {
  /** Token ids with the special ones that the model expects. */
  tokenize(text: string): number[];
  /** The same for ids from a client; null when one of them is no token of this model. */
  wrap(ids: readonly number[]): number[] | null;
  /** How many batches it takes at once. */
  readonly parallel: number;
  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]>;
  dispose(): Promise<void>;
}
