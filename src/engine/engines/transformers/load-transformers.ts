import {
  AutoModel,
  AutoTokenizer,
  env,
  type PreTrainedModel,
  type PreTrainedTokenizer,
} from '@huggingface/transformers';

import type { TransformersVariant } from '../../../catalog/catalog.ts';
import { hasAdapter } from '../../device/gpu.ts';
import type { EmbeddingEngine, EngineContext, LoadEngine } from '../../engine.ts';
import {
  checkConfig,
  dataFilesOf,
  graphFailure,
  graphOf,
  noGpu,
  tokenizerFailure,
} from './transformers-files.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { checkSessions, startRuntime } from './onnx-runtime.ts';
import { TransformersEngine } from './transformers-engine.ts';
import { serveFiles } from './weight-files.ts';

/** WASM until a GPU has been measured: it is right everywhere, and quick for models of this size. */
const DEFAULT_DEVICE = 'wasm';

export const loadTransformers: LoadEngine<TransformersVariant, EmbeddingEngine> = async (
  variant,
  context,
) => {
  await checkConfig(variant, context);
  await startRuntime(context);
  const { stop, failed } = serveFiles(variant, context);
  try {
    const tokenizer = await Promise.race([loadTokenizer(variant, context), failed]);
    context.signal.throwIfAborted();
    const model = await Promise.race([loadModel(variant), failed]);
    try {
      context.signal.throwIfAborted();
      const embedder = new OnnxEmbedder(model, tokenizer, variant);
      return new TransformersEngine(embedder, variant, fingerprint(variant));
    } catch (error) {
      await model.dispose();
      throw error;
    }
  } finally {
    stop();
  }
};

async function loadTokenizer(
  variant: TransformersVariant,
  context: EngineContext,
): Promise<PreTrainedTokenizer> {
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(variant.name);
    // Some broken tokenizers load, and fail only on their first text.
    if (tokenizer.encode('a').some((id) => !Number.isInteger(id))) throw new Error('a token has no id');
    return tokenizer;
  } catch (error) {
    context.signal.throwIfAborted();
    throw await tokenizerFailure(error, variant, context);
  }
}

async function loadModel(variant: TransformersVariant): Promise<PreTrainedModel> {
  // Asked before the runtime is: its own attempt would end in a bare number.
  if (variant.device === 'webgpu' && !(await hasAdapter())) throw noGpu(variant);
  try {
    const model = await AutoModel.from_pretrained(variant.name, {
      device: variant.device ?? DEFAULT_DEVICE,
      // `model_file_name` is the whole name: transformers.js appends nothing for this type.
      dtype: 'fp32',
      model_file_name: graphOf(variant),
      use_external_data_format: dataFilesOf(variant),
    });
    await checkSessions(model);
    return model;
  } catch (error) {
    throw graphFailure(error, variant);
  }
}

function fingerprint({ name, device = DEFAULT_DEVICE }: TransformersVariant): string {
  const threads = env.backends.onnx.wasm?.numThreads ?? 1;
  return `${name}-transformers-${device === 'wasm' ? `wasm-${threads}t` : 'webgpu'}`;
}
