import { AutoModel, AutoTokenizer, env } from '@huggingface/transformers';

import type { TransformersVariant } from '../../catalog/catalog.ts';
import type { EmbeddingEngine, EngineContext, LoadEngine } from '../engine.ts';
import { EngineError } from '../engine-error.ts';
import { OnnxEmbedder } from './transformers/onnx-embedder.ts';
import { TransformersEngine } from './transformers/transformers-engine.ts';
import { serveFiles } from './transformers/weight-files.ts';

/** WASM until a GPU has been measured: it is right everywhere, and quick for models of this size. */
const DEFAULT_DEVICE = 'wasm';

export const loadTransformers: LoadEngine<TransformersVariant, EmbeddingEngine> = async (
  variant,
  context,
) => {
  const device = variant.device ?? DEFAULT_DEVICE;
  configure(context);
  const stopServing = serveFiles(variant, context);
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(variant.name);
    context.signal.throwIfAborted();
    const model = await AutoModel.from_pretrained(variant.name, {
      device,
      dtype: 'fp32',
      use_external_data_format: variant.files.some(({ path }) => /\.(safetensors|onnx_data)$/.test(path)),
    });
    if (context.signal.aborted) {
      await model.dispose();
      throw context.signal.reason as Error;
    }
    const threads = env.backends.onnx.wasm?.numThreads ?? 1;
    const backend = device === 'wasm' ? `wasm-${threads}t` : 'webgpu';
    return new TransformersEngine(
      new OnnxEmbedder(model, tokenizer, variant),
      variant,
      `${variant.name}-transformers-${backend}`,
    );
  } finally {
    stopServing();
  }
};

/** Nothing comes from anywhere but our own origin and the weight store. */
function configure(context: EngineContext): void {
  const { wasm } = env.backends.onnx;
  if (!wasm) throw new EngineError({ code: 'model_load_failed', message: 'This browser cannot run WASM.' });
  wasm.wasmPaths = {
    mjs: context.wasm('ort-wasm-simd-threaded.asyncify.mjs'),
    wasm: context.wasm('ort-wasm-simd-threaded.asyncify.wasm'),
  };
  wasm.numThreads = crossOriginIsolated ? navigator.hardwareConcurrency : 1;
  env.useWasmCache = false;
  env.useBrowserCache = false;
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
}
