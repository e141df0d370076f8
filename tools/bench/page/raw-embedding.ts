import { env, type FeatureExtractionPipeline, pipeline } from '@huggingface/transformers';

import { once } from './once.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/** Has transformers.js run onnxruntime's files of this site. The script's name ends in .mjs in the package itself. */
export function useWasm(threads: number): void {
  const build = (ending: string) =>
    `/localtext/wasm/${engineFileName(`ort-wasm-simd-threaded.asyncify.${ending}`)}`;
  Object.assign(env.backends.onnx.wasm ?? {}, {
    wasmPaths: { mjs: build('js'), wasm: build('wasm') },
    numThreads: threads,
  });
}

/** transformers.js as a user without localtext would run it. */
export const rawEmbedding = once(async (): Promise<FeatureExtractionPipeline> => {
  Object.assign(env, {
    allowRemoteModels: false,
    allowLocalModels: true,
    localModelPath: '/models/',
    useBrowserCache: false,
    useCustomCache: true,
    // The graph's tensors lie in the safetensors file.
    customCache: {
      match: async (url: string) =>
        url.endsWith('/model.onnx_data') ? fetch('/models/all-minilm-l6-v2/model.safetensors') : undefined,
      put: async () => undefined,
    },
  });
  useWasm(navigator.hardwareConcurrency);
  return pipeline('feature-extraction', 'all-minilm-l6-v2', {
    dtype: 'fp32',
    device: 'wasm',
    use_external_data_format: true,
  });
});
