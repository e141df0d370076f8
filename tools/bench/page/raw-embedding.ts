import { env, type FeatureExtractionPipeline, pipeline } from '@huggingface/transformers';

import { once } from './once.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/** transformers.js as a user without localtext would run it. */
export const rawEmbedding = once(async (): Promise<FeatureExtractionPipeline> => {
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = '/models/';
  env.useBrowserCache = false;
  env.useCustomCache = true;
  // The graph's tensors lie in the safetensors file.
  env.customCache = {
    match: async (url: string) =>
      url.endsWith('/model.onnx_data') ? fetch('/models/all-minilm-l6-v2/model.safetensors') : undefined,
    put: async () => undefined,
  };
  const wasm = env.backends.onnx.wasm;
  if (wasm) {
    // The script's name ends in .mjs in the package itself.
    const build = (ending: string) =>
      `/localtext/wasm/${engineFileName(`ort-wasm-simd-threaded.asyncify.${ending}`)}`;
    wasm.wasmPaths = { mjs: build('js'), wasm: build('wasm') };
    wasm.numThreads = navigator.hardwareConcurrency;
  }
  return pipeline('feature-extraction', 'all-minilm-l6-v2', {
    dtype: 'fp32',
    device: 'wasm',
    use_external_data_format: true,
  });
});
