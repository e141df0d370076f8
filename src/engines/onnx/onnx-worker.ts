import { AutoModel, env, type PreTrainedModel } from '@huggingface/transformers';
import { transfer } from 'comlink';

import type { TransformersVariant } from '../../catalog/catalog.ts';
import { runModel } from './run-model.ts';
import { type Runtime, wasmOptions } from './runtime-files.ts';
import { dataFilesOf, graphOf } from './transformers-files.ts';
import { type ReadFile, serveFiles } from './weight-files.ts';

let loaded: { model: PreTrainedModel; pooling: TransformersVariant['pooling'] } | null = null;

/**
 * Runs one model, in a separate worker: onnxruntime compiles and computes on the thread that calls it, and a session
 * that fails leaves transformers.js unusable in its thread.
 */
export const onnxWorker = {
  /** @throws what the runtime failed with */
  async load(variant: TransformersVariant, runtime: Runtime, read: ReadFile): Promise<void> {
    Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
    serveFiles(variant.name, read);
    const model = await AutoModel.from_pretrained(variant.name, {
      device: variant.device ?? 'wasm',
      // `model_file_name` is the whole name: transformers.js appends nothing for this type.
      dtype: 'fp32',
      model_file_name: graphOf(variant),
      use_external_data_format: dataFilesOf(variant),
    });
    loaded = { model, pooling: variant.pooling };
  },

  /** One L2-normalised vector for each sequence. */
  async run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    if (!loaded) throw new Error('no model is loaded');
    const vectors = await runModel(loaded.model, batch, loaded.pooling);
    return transfer(
      vectors,
      vectors.map(({ buffer }) => buffer),
    );
  },
};
