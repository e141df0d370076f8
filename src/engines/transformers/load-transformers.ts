import { weightBytes } from '#catalog';
import type { TransformersVariant } from './rules.ts';
import { abortable } from '#base';
import { type Engine, watchGpu, type EngineContext, type LoadEngine } from '#engine-kit';
import type { onnxWorker } from './onnx-worker.ts';
import { openOnnxWorker } from '../onnx/open-onnx-worker.ts';
import { loadFailure } from '../onnx/runtime-files.ts';
import { openTokenizer, type TextTokenizer } from '../onnx/text-tokenizer.ts';
import { checkConfigs, dataFilesOf, graphOf, noGpu } from '../onnx/transformers-files.ts';
import { transformersEngine, type Embedder } from './transformers-engine.ts';
import { filesOf } from '../onnx/weight-files.ts';

/** Batch of two texts of equal length, so that there is no padding. */
const WARM_UP = [Array.from({ length: 16 }, () => 0), Array.from({ length: 16 }, () => 0)];

export const loadTransformers: LoadEngine<TransformersVariant, 'embedding'> = async (variant, context) => {
  await checkConfigs(variant, context);
  const tokenizer = await openTokenizer(variant, context);
  try {
    return await loadEngine(variant, context, tokenizer);
  } catch (error) {
    tokenizer.end();
    throw error;
  }
};

async function loadEngine(
  listed: TransformersVariant,
  context: EngineContext,
  tokenizer: TextTokenizer,
): Promise<Engine<'embedding'>> {
  // WASM until a benchmark selects the GPU: it is correct everywhere, and fast enough for models of this size.
  const variant = { backend: 'wasm' as const, ...listed };
  // Check the GPU before the runtime does, whose error would be a bare number.
  const gpu = variant.backend === 'webgpu' ? await watchGpu() : null;
  if (variant.backend === 'webgpu' && !gpu) throw noGpu(variant);
  try {
    const readFile = filesOf(variant, context);
    const { worker, fingerprint } = await openOnnxWorker<typeof onnxWorker>(variant, context, readFile, {
      helper: 'onnx',
      load: (model, runtime, read) =>
        model.load(variant, graphOf(variant), dataFilesOf(variant), runtime, read),
      lost: gpu?.lost,
    });
    // After a loss, onnxruntime's calls may never settle.
    gpu?.lost.addEventListener('abort', () => worker.end(gpu.lost.reason));
    const embedder: Embedder = {
      tokenizer,
      run: (batch) => worker.call((model) => model.run(batch)),
      dispose() {
        gpu?.stop();
        tokenizer.end();
        worker.end();
      },
    };
    if (gpu) await compileShaders(embedder, variant, context);
    return transformersEngine(embedder, variant, fingerprint);
  } catch (error) {
    gpu?.stop();
    gpu?.lost.throwIfAborted();
    throw await loadFailure(error, variant, context);
  }
}

/** Runs a batch, as onnxruntime compiles shaders on first use: during the load, with progress, not in the first request. */
async function compileShaders(
  embedder: Embedder,
  variant: TransformersVariant,
  { onProgress, signal }: EngineContext,
): Promise<void> {
  onProgress({ phase: 'compile', loadedBytes: 0, totalBytes: weightBytes(variant) });
  try {
    await abortable(embedder.run(WARM_UP), signal);
  } catch (error) {
    embedder.dispose();
    throw error;
  }
}
