import type { PreTrainedTokenizer } from '@huggingface/transformers';

import type { OnnxSession } from './onnx-session.ts';
import type { Embedder } from './transformers-engine.ts';

export class OnnxEmbedder implements Embedder {
  readonly #session: OnnxSession;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #before: number[];
  readonly #after: number[];
  readonly #vocabularySize: number;

  constructor(session: OnnxSession, tokenizer: PreTrainedTokenizer) {
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#vocabularySize = tokenizer.get_vocab().size;
    // The special tokens around a text, derived from a text of one token.
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

  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    return this.#session.run(batch);
  }

  async dispose(): Promise<void> {
    this.#session.end();
  }
}
