import { AutoModel, type PreTrainedModel, Tensor } from '@huggingface/transformers';
import { transfer } from 'comlink';

import type { TransformersVariant } from './rules.ts';
import { configure } from '../onnx/configure.ts';
import type { Runtime } from '../onnx/wasm-options.ts';
import type { ReadFile } from '../onnx/weight-files.ts';

type Pooling = TransformersVariant['pooling'];
type Batch = readonly (readonly number[])[];
type Vector = Float32Array<ArrayBuffer>;

let loaded: { model: PreTrainedModel; pooling: Pooling } | null = null;

/**
 * Runs one model in a worker: onnxruntime compiles and computes on the calling thread, and a failed session leaves
 * transformers.js unusable in its thread.
 */
export const onnxWorker = {
  /**
   * @param graph name of the graph's file without its extension
   * @param dataFiles number of files beside it that hold its tensors
   * @throws the runtime's error
   */
  async load(
    variant: TransformersVariant,
    graph: string,
    dataFiles: number,
    runtime: Runtime,
    read: ReadFile,
  ): Promise<void> {
    configure(variant.name, runtime, read);
    const model = await AutoModel.from_pretrained(variant.name, {
      device: variant.backend ?? 'wasm',
      // `model_file_name` is the whole name: transformers.js appends nothing for this type.
      dtype: 'fp32',
      model_file_name: graph,
      use_external_data_format: dataFiles,
      session_options: variant.optimizedGraph ? { graphOptimizationLevel: 'disabled' } : {},
    });
    loaded = { model, pooling: variant.pooling };
  },

  /** Computes one L2-normalised vector per sequence. */
  async run(batch: Batch): Promise<Vector[]> {
    if (!loaded) throw new Error('no model is loaded');
    const vectors = await runModel(loaded.model, batch, loaded.pooling);
    return transfer(
      vectors,
      vectors.map(({ buffer }) => buffer),
    );
  },
};

/** Pools the states of a sequence's first `length` tokens into an L2-normalised vector. The rest is padding. */
function pool(states: Float32Array, length: number, width: number, pooling: Pooling): Vector {
  const vector = new Float32Array(width);
  const from = pooling === 'last_token' ? length - 1 : 0;
  const to = pooling === 'cls' ? 1 : length;
  for (let token = from; token < to; token++)
    for (let i = 0; i < width; i++) vector[i] = (vector[i] ?? 0) + (states[token * width + i] ?? 0);
  let sum = 0;
  for (const x of vector) sum += x * x;
  // The mean's divisor cancels out in the normalization.
  const norm = Math.sqrt(sum) || 1;
  return vector.map((x) => x / norm);
}

async function runModel(model: PreTrainedModel, batch: Batch, pooling: Pooling): Promise<Vector[]> {
  const rows = batch.length;
  const columns = Math.max(...batch.map(({ length }) => length));
  const ids = new BigInt64Array(rows * columns);
  const mask = new BigInt64Array(rows * columns);
  batch.forEach((sequence, row) => {
    ids.set(sequence.map(BigInt), row * columns);
    mask.fill(1n, row * columns, row * columns + sequence.length);
  });
  const dims = [rows, columns];
  const outputs = (await model({
    input_ids: new Tensor('int64', ids, dims),
    attention_mask: new Tensor('int64', mask, dims),
    token_type_ids: new Tensor('int64', new BigInt64Array(rows * columns), dims),
  })) as Record<string, Tensor>;
  // Exporters' names for the states of all tokens.
  const hidden = outputs['last_hidden_state'] ?? outputs['token_embeddings'];
  if (!hidden)
    throw new Error(`the model gives no last_hidden_state, but ${Object.keys(outputs).join(', ')}`);
  const [, , width = 0] = hidden.dims;
  if (!hidden.type.startsWith('float') || String(hidden.dims) !== String([...dims, width]))
    throw new Error(`its output is ${hidden.type}[${hidden.dims}] for tokens of [${dims}]`);
  const states = hidden.data as Float32Array;
  const vectors = batch.map(({ length }, row) =>
    pool(states.subarray(row * columns * width, (row + 1) * columns * width), length, width, pooling),
  );
  hidden.dispose();
  return vectors;
}
