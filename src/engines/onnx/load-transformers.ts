import { AutoTokenizer, type PreTrainedTokenizer } from '@huggingface/transformers';

import { type TransformersVariant, weightBytes } from '../../catalog/catalog.ts';
import { abortable } from '../../util/async.ts';
import { watchGpu } from '../device.ts';
import type { EngineContext, LoadEngine } from '../engine.ts';
import { checkConfig, graphFailure, noGpu, tokenizerFailure } from './transformers-files.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { isStartFailure, startFailure } from './runtime-files.ts';
import { TransformersEngine } from './transformers-engine.ts';
import { filesOf, type ModelFiles, type ReadFile, serveFiles } from './weight-files.ts';

/** WASM until a GPU has been measured: it is right everywhere, and quick for models of this size. */
const DEFAULT_DEVICE = 'wasm';

/** Two texts of one length, so that there is no padding. */
const WARM_UP = [Array.from({ length: 16 }, () => 0), Array.from({ length: 16 }, () => 0)];

export const loadTransformers: LoadEngine<TransformersVariant, 'embedding'> = async (variant, context) => {
  await checkConfig(variant, context);
  const files = filesOf(variant, context);
  const tokenizer = await abortable(loadTokenizer(variant, context, files.read), files.failed);
  context.signal.throwIfAborted();
  const embedder = await loadEmbedder(variant, context, files, tokenizer);
  return new TransformersEngine(embedder, variant, fingerprint(variant, embedder));
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

async function loadEmbedder(
  variant: TransformersVariant,
  context: EngineContext,
  files: ModelFiles,
  tokenizer: PreTrainedTokenizer,
): Promise<OnnxEmbedder> {
  // Asked before the runtime is: its own attempt would end in a bare number.
  const gpu = variant.device === 'webgpu' ? await watchGpu() : null;
  if (variant.device === 'webgpu' && !gpu) throw noGpu(variant);
  const onDevice = { ...variant, device: variant.device ?? DEFAULT_DEVICE };
  try {
    const embedder = await OnnxEmbedder.load(onDevice, context, files, gpu, tokenizer);
    if (gpu) await compileShaders(embedder, variant, context);
    return embedder;
  } catch (error) {
    gpu?.stop();
    gpu?.lost.throwIfAborted();
    context.signal.throwIfAborted();
    throw isStartFailure(error) ? await startFailure(error, variant, context) : graphFailure(error, variant);
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

function fingerprint(variant: TransformersVariant, { threads }: OnnxEmbedder): string {
  const { name, device = DEFAULT_DEVICE } = variant;
  const backend = device === 'wasm' ? `wasm-${threads}t` : 'webgpu';
  return `${name}-transformers-${backend}`;
}
