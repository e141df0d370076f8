import { AutoTokenizer, type PreTrainedTokenizer } from '@huggingface/transformers';

import { type TransformersVariant, weightBytes } from '../../catalog/catalog.ts';
import { abortable } from '../../util/async.ts';
import { watchGpu } from '../device.ts';
import type { EngineContext, LoadEngine } from '../engine.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import type { onnxWorker } from './onnx-worker.ts';
import { openOnnxWorker } from './open-onnx-worker.ts';
import { loadFailure } from './runtime-files.ts';
import { checkConfig, noGpu, tokenizerFailure } from './transformers-files.ts';
import { TransformersEngine } from './transformers-engine.ts';
import { filesOf, type ModelFiles, type ReadFile, serveFiles } from './weight-files.ts';

/** Two texts of one length, so that there is no padding. */
const WARM_UP = [Array.from({ length: 16 }, () => 0), Array.from({ length: 16 }, () => 0)];

export const loadTransformers: LoadEngine<TransformersVariant, 'embedding'> = async (variant, context) => {
  await checkConfig(variant, context);
  const files = filesOf(variant, context);
  const tokenizer = await abortable(loadTokenizer(variant, context, files.read), files.failed);
  context.signal.throwIfAborted();
  return loadEngine(variant, context, files, tokenizer);
};

async function loadTokenizer(
  variant: TransformersVariant,
  context: EngineContext,
  read: ReadFile,
): Promise<PreTrainedTokenizer> {
  const stop = serveFiles(variant.name, read);
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(variant.name);
    // Some broken tokenizers load, and fail only on their first text.
    if (tokenizer.encode('a').some((id) => !Number.isInteger(id))) throw new Error('a token has no id');
    return tokenizer;
  } catch (error) {
    context.signal.throwIfAborted();
    throw await tokenizerFailure(error, variant, context);
  } finally {
    stop();
  }
}

async function loadEngine(
  given: TransformersVariant,
  context: EngineContext,
  files: ModelFiles,
  tokenizer: PreTrainedTokenizer,
): Promise<TransformersEngine> {
  // WASM until a GPU has been measured: it is right everywhere, and quick for models of this size.
  const variant = { device: 'wasm' as const, ...given };
  // Asked before the runtime is: its own attempt would end in a bare number.
  const gpu = variant.device === 'webgpu' ? await watchGpu() : null;
  if (variant.device === 'webgpu' && !gpu) throw noGpu(variant);
  try {
    const { worker, fingerprint } = await openOnnxWorker<typeof onnxWorker>(variant, context, files, {
      helper: 'onnx',
      load: (model, runtime, read) => model.load(variant, runtime, read),
      lost: gpu?.lost,
    });
    const embedder = new OnnxEmbedder(worker, gpu, tokenizer);
    if (gpu) await compileShaders(embedder, variant, context);
    return new TransformersEngine(embedder, variant, fingerprint);
  } catch (error) {
    gpu?.stop();
    gpu?.lost.throwIfAborted();
    throw await loadFailure(error, variant, context);
  }
}

/** onnxruntime compiles them as they are first run: here, where it shows, and not in the first request. */
async function compileShaders(
  embedder: OnnxEmbedder,
  variant: TransformersVariant,
  { onProgress, signal }: EngineContext,
): Promise<void> {
  onProgress(0, weightBytes(variant), 'compile');
  try {
    await abortable(embedder.run(WARM_UP), signal);
  } catch (error) {
    await embedder.dispose();
    throw error;
  }
}
