import { Tensor, type PreTrainedModel, type PreTrainedTokenizer } from '@huggingface/transformers';

import type { TransformersVariant } from '../../../catalog/catalog.ts';
import type { Embedder } from './embedder.ts';
import { run } from './onnx-runtime.ts';
import { pool } from './pooling.ts';

export class OnnxEmbedder implements Embedder {
  readonly #model: PreTrainedModel;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #pooling: TransformersVariant['pooling'];
  readonly #before: number[];
  readonly #after: number[];
  readonly #vocabularySize: number;

  constructor(model: PreTrainedModel, tokenizer: PreTrainedTokenizer, variant: TransformersVariant) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#pooling = variant.pooling;
    this.#vocabularySize = tokenizer.get_vocab().size;
    // What stands around a text, read off a text of one token.
    const bare = tokenizer.encode('a', { add_special_tokens: false });
    const full = tokenizer.encode('a');
    const at = full.findIndex((id) => id === bare[0]);
    this.#before = full.slice(0, at);
    this.#after = full.slice(at + bare.length);
  }

  tokenize(text: string): number[] {
    return this.#tokenizer.encode(text);
  }

  wrap(ids: readonly number[]): number[] | null {
    if (!ids.every((id) => Number.isInteger(id) && id >= 0 && id < this.#vocabularySize)) return null;
    const wrapped =
      ids[0] === this.#before[0] && ids.at(-1) === this.#after.at(-1) && this.#before.length > 0;
    return wrapped ? [...ids] : [...this.#before, ...ids, ...this.#after];
  }

  async run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    const rows = batch.length;
    const columns = Math.max(...batch.map(({ length }) => length));
    const ids = new BigInt64Array(rows * columns);
    const mask = new BigInt64Array(rows * columns);
    batch.forEach((sequence, row) => {
      sequence.forEach((id, column) => {
        ids[row * columns + column] = BigInt(id);
        mask[row * columns + column] = 1n;
      });
    });
    const dims = [rows, columns];
    const outputs = await run(this.#model, {
      input_ids: new Tensor('int64', ids, dims),
      attention_mask: new Tensor('int64', mask, dims),
      token_type_ids: new Tensor('int64', new BigInt64Array(rows * columns), dims),
    });
    // The names by which exporters know the states of all tokens.
    const hidden = outputs['last_hidden_state'] ?? outputs['token_embeddings'];
    if (!hidden)
      throw new Error(`the model gives no last_hidden_state, but ${Object.keys(outputs).join(', ')}`);
    const states = hidden.data as Float32Array;
    const width = states.length / (rows * columns);
    const vectors = batch.map(({ length }, row) =>
      pool(states.subarray(row * columns * width, (row + 1) * columns * width), length, width, this.#pooling),
    );
    hidden.dispose();
    return vectors;
  }

  async dispose(): Promise<void> {
    await this.#model.dispose();
  }
}
