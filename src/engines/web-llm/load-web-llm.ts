import type { AppConfig, InitProgressReport } from '@mlc-ai/web-llm';

import { halvedLengths, MIN_CONTEXT } from '#catalog';
import { libraryPath, type WebLlmVariant } from './rules.ts';
import { requestAdapter, loadFitting, type Engine, type EngineContext, type LoadEngine } from '#engine-kit';
import { abortable } from '#base';
import { serveArtifacts } from './internals/artifact-cache.ts';
import { webLlmEngine } from './web-llm-engine.ts';
import { asLoadFailure, lacksFeature, noGpu } from './web-llm-failures.ts';
import { withGpuDevice } from './internals/gpu-device.ts';
import { LIBRARY, type ModelFiles, openModelFiles } from './web-llm-files.ts';
import { PipelineWatch, watchedEngine } from './internals/pipeline-watch.ts';

/** Loads an MLC model from the weight store, with as much context as the GPU's memory allows. */
export const loadWebLlm: LoadEngine<WebLlmVariant, 'chat'> = async (variant, context) => {
  const gpu = 'gpu' in navigator ? navigator.gpu : null;
  if (!gpu) throw noGpu(variant.name);
  await checkFeatures(gpu, variant);
  const files = await openModelFiles(variant, context);
  return loadFitting(contextLengths(variant, files), (contextLength) =>
    loadOnce(gpu, variant, files, context, contextLength),
  );
};

/** Rejects a GPU that cannot run the model before anything is downloaded. */
async function checkFeatures(gpu: GPU, variant: WebLlmVariant): Promise<void> {
  const adapter = await requestAdapter(gpu);
  if (!adapter) throw noGpu(variant.name);
  const missing = variant.needs?.features?.find((feature) => !adapter.features.has(feature));
  if (missing !== undefined) throw lacksFeature(variant.name, missing);
}

/** Lists context lengths to try; null is the model's sliding window. */
function contextLengths(variant: WebLlmVariant, { chatConfig }: ModelFiles): (number | null)[] {
  if (chatConfig.sliding_window_size > 0) return [null];
  return halvedLengths(
    Math.min(variant.contextLength, Math.max(chatConfig.context_window_size, MIN_CONTEXT)),
  );
}

async function loadOnce(
  gpu: GPU,
  variant: WebLlmVariant,
  files: ModelFiles,
  context: EngineContext,
  contextLength: number | null,
): Promise<Engine<'chat'>> {
  const webLlm = await import('@mlc-ai/web-llm');
  const watch = new PipelineWatch();
  const artifacts = serveArtifacts(files.read);
  const { baseUrl } = artifacts;
  const model = { model_id: variant.name, model: baseUrl, model_lib: baseUrl + LIBRARY };
  const appConfig: AppConfig = { cacheBackend: 'cache', model_list: [model] };
  const initProgressCallback = ({ progress, text }: InitProgressReport): void => {
    // Other texts are about downloads, which the store reports.
    const [, what] = /^Loading (model|GPU shader modules)/.exec(text) ?? [];
    const phase = what === 'model' ? 'load' : 'compile';
    const totalBytes = files.weightBytes;
    if (what !== undefined) context.onProgress({ phase, loadedBytes: progress * totalBytes, totalBytes });
  };
  const engine = watchedEngine(webLlm, watch, { appConfig, initProgressCallback, logLevel: 'SILENT' });
  const gpuDevices: GPUDevice[] = [];
  const lost = new AbortController();
  const onDevice = (gpuDevice: GPUDevice): void => {
    gpuDevices.push(gpuDevice);
    // web-llm destroys the device if a buffer cannot be allocated.
    void gpuDevice.lost.then(({ message }) => lost.abort(new Error(`out of memory: ${message}`)));
  };
  const stop = (): void => void engine.unload();
  context.signal.addEventListener('abort', stop, { once: true });
  try {
    const options = contextLength === null ? {} : { context_window_size: contextLength };
    await withGpuDevice(gpu, onDevice, () =>
      abortable(engine.reload(variant.name, options), AbortSignal.any([context.signal, lost.signal])),
    );
    // A cancelled load ends without an error.
    context.signal.throwIfAborted();
    const gpuDevice = gpuDevices.at(-1);
    if (!gpuDevice) throw new Error('web-llm opened no GPU device');
    const loadedLength = contextLength ?? variant.contextLength;
    return webLlmEngine({
      engine,
      watch,
      chatConfig: files.chatConfig,
      clientText: files.clientText,
      fingerprint: `${variant.name}-web-llm-webgpu-${loadedLength}`,
      contextLength: loadedLength,
      ...(variant.replyPrefix !== undefined && { replyPrefix: variant.replyPrefix }),
      lost: gpuDevice.lost,
    });
  } catch (error) {
    for (const gpuDevice of gpuDevices) gpuDevice.destroy();
    context.signal.throwIfAborted();
    throw asLoadFailure(error, variant.name, libraryPath(variant), gpuDevices.length > 0);
  } finally {
    context.signal.removeEventListener('abort', stop);
    artifacts.close();
  }
}
