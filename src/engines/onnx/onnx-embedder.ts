import type { WatchedGpu, HelperWorker } from '#engine-kit';
import type { onnxWorker } from './onnx-worker.ts';
import type { TextTokenizer } from './text-tokenizer.ts';
import type { Embedder, TokenizedText } from './transformers-engine.ts';

type Worker = Pick<HelperWorker<typeof onnxWorker>, 'call' | 'end'>;
type Tokenizer = Pick<TextTokenizer, 'tokenize' | 'wrap' | 'end'>;

/** A model and its tokenizer, each in a separate worker. */
export class OnnxEmbedder implements Embedder {
  readonly #worker: Worker;
  readonly #gpu: WatchedGpu | null;
  readonly #tokenizer: Tokenizer;

  constructor(worker: Worker, gpu: WatchedGpu | null, tokenizer: Tokenizer) {
    this.#worker = worker;
    this.#gpu = gpu;
    // After a loss, onnxruntime's calls may never settle.
    gpu?.lost.addEventListener('abort', () => worker.end(gpu.lost.reason));
    this.#tokenizer = tokenizer;
  }

  /** Computes one L2-normalised vector per sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    return this.#worker.call((model) => model.run(batch));
  }

  tokenize(texts: readonly string[], cutTo?: number): Promise<readonly TokenizedText[]> {
    return this.#tokenizer.tokenize(texts, cutTo);
  }

  wrap(ids: readonly number[]): number[] | null {
    return this.#tokenizer.wrap(ids);
  }

  async dispose(): Promise<void> {
    this.#gpu?.stop();
    this.#tokenizer.end();
    this.#worker.end();
  }
}
