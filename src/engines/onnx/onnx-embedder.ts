import type { PreTrainedTokenizer } from '@huggingface/transformers';

import type { WatchedGpu } from '../device.ts';
import type { HelperWorker } from '../helper-worker.ts';
import type { onnxWorker } from './onnx-worker.ts';
import type { Embedder } from './transformers-engine.ts';

type Worker = Pick<HelperWorker<typeof onnxWorker>, 'call' | 'end'>;

/** A model in a separate worker, with its tokenizer. */
export class OnnxEmbedder implements Embedder {
  readonly #worker: Worker;
  readonly #gpu: WatchedGpu | null;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #before: number[];
  readonly #after: number[];
  readonly #vocabularySize: number;

  constructor(worker: Worker, gpu: WatchedGpu | null, tokenizer: PreTrainedTokenizer) {
    this.#worker = worker;
    this.#gpu = gpu;
    // After a loss, onnxruntime's calls may never settle.
    gpu?.lost.addEventListener('abort', () => worker.end(gpu.lost.reason));
    this.#tokenizer = tokenizer;
    this.#vocabularySize = tokenizer.get_vocab().size;
    // The special tokens around a text, derived from a text of one token.
    const bare = tokenizer.encode('a', { add_special_tokens: false });
    const full = tokenizer.encode('a');
    const at = full.findIndex((id) => id === bare[0]);
    this.#before = full.slice(0, at);
    this.#after = full.slice(at + bare.length);
  }

  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    return this.#worker.call((model) => model.run(batch));
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

  async dispose(): Promise<void> {
    this.#gpu?.stop();
    this.#worker.end();
  }
}
