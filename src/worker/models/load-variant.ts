import type { TransformersVariant, Variant, WeightFile } from '../../catalog/catalog.ts';
import type { LoadVariant, LoadVariantOptions } from './loaded-model.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';
import { abortable } from '../../util/async.ts';
import type { BuiltInModel } from '../../protocol/built-in.ts';
import type { DecodeAudio } from '../../protocol/worker-control.ts';
import { runs, type Engine, type EngineContext } from '../runtimes/engine.ts';
import { serverError, ServiceError } from '../../errors/service-error.ts';
import type { ModelStorage } from '../../model-files/model-storage.ts';
import type { BackendBenchmark } from '../benchmark/backend-benchmark.ts';
import { checkFormat, findBrokenJson } from '../../model-files/formats/check-format.ts';
import { loadProgress, onlyForward } from './load-progress.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';
import type { StoredFile } from '../../model-files/stored-file.ts';

export interface LoaderSettings {
  store: Promise<WeightStore>;
  sources: WeightSources;
  modelStorage: Pick<ModelStorage, 'makeRoom' | 'makeMoreRoom' | 'used'>;
  benchmark: () => Pick<BackendBenchmark, 'backend' | 'maybeRun' | 'disable'>;
  /** Absolute URL of the folder with the engines' WASM files, ending in `/`. */
  wasmUrl: string;
  decodeAudio: DecodeAudio;
  imageOrigins: readonly string[];
  builtIn: BuiltInModel | null;
}

/** Loads a variant by its engine, with its files out of the store. */
export function variantLoader(settings: LoaderSettings): LoadVariant {
  const { store, sources, modelStorage, benchmark, wasmUrl, decodeAudio, imageOrigins, builtIn } = settings;
  return async (unresolved, given) => {
    const options = {
      ...given,
      decodeAudio,
      imageOrigins,
      builtIn,
      onProgress: onlyForward(given.onProgress),
    };
    const resolved = await sources.resolve(unresolved, options.signal);
    const variant: Variant = isOnnx(resolved)
      ? { ...resolved, device: await benchmark().backend(resolved) }
      : resolved;
    await modelStorage.makeRoom(variant.files);
    const used = (engine: Engine): Engine => {
      // Housekeeping: answers neither wait for it nor fail with it.
      modelStorage
        .used(variant)
        .catch((error: unknown) => console.error('localtext: weights were not tidied', error));
      if (isOnnx(resolved) && runs(engine, 'embedding')) {
        benchmark()
          .maybeRun(resolved, engine)
          .catch((error: unknown) => console.warn('localtext: the GPU could not be measured', error));
      }
      return engine;
    };
    const load = async (which: Variant): Promise<Engine> => {
      for (;;) {
        try {
          return await loadIntact(await store, wasmUrl, which, options);
        } catch (error) {
          const full = error instanceof ServiceError && error.code === 'storage_full';
          if (!full || options.signal.aborted) throw error;
          await modelStorage.makeMoreRoom(which.files);
        }
      }
    };
    try {
      return used(await load(variant));
    } catch (error) {
      const measured = isOnnx(resolved) && !resolved.device && isOnnx(variant) && variant.device === 'webgpu';
      if (!measured || options.signal.aborted) throw error;
      // A GPU that was the faster once, and will not do now.
      benchmark().disable(resolved);
      return used(await load({ ...resolved, device: 'wasm' }));
    }
  };
}

type LoadOptions = LoadVariantOptions & Pick<EngineContext, 'decodeAudio' | 'imageOrigins' | 'builtIn'>;

const isOnnx = (variant: Variant): variant is TransformersVariant => variant.engine === 'transformers';

/** @throws ServiceError `weights_corrupt` when stored files are damaged and cannot be repaired */
export async function loadIntact(
  store: WeightStore,
  wasmUrl: string,
  variant: Variant,
  options: LoadOptions,
): Promise<Engine> {
  const first = await loadOnce(store, wasmUrl, variant, options);
  if (first.intact) return first.engine;
  // A stored file was damaged: the damaged chunks were dropped, and are downloaded again.
  await first.engine?.unload();
  const second = await loadOnce(store, wasmUrl, variant, options);
  if (second.engine && second.intact) return second.engine;
  await second.engine?.unload();
  throw serverError(
    'weights_corrupt',
    `The stored weights of ${variant.name} are damaged and could not be repaired. The device's storage may be failing: free space, or use another device.`,
  );
}

type Loaded = { engine: Engine; intact: true } | { engine: Engine | null; intact: false };

async function loadOnce(
  store: WeightStore,
  wasmUrl: string,
  variant: Variant,
  options: LoadOptions,
): Promise<Loaded> {
  const progress = await loadProgress(store, variant.files, options);
  const checks: Promise<boolean>[] = [];
  const fetchFile = async (file: WeightFile): Promise<StoredFile> => {
    const stored = await store.file(file, {
      signal: options.signal,
      onProgress: (...step) => progress.file(file, ...step),
    });
    progress.stored(file);
    options.onFile?.(file.path, stored.from ?? 'unknown');
    return stored;
  };
  const left = new Set(variant.files);
  const given: { file: WeightFile; blob: Blob }[] = [];
  const unusable = new AbortController();
  const give = async (file: WeightFile): Promise<Blob> => {
    left.delete(file);
    const stored = await fetchFile(file);
    checks.push(stored.intact);
    await checkFormat(file, stored.blob);
    given.push({ file, blob: stored.blob });
    return stored.blob;
  };
  const context = engineContext(wasmUrl, options, async (path) => {
    const file = variant.files.find((candidate) => candidate.path === path);
    if (!file) throw unlisted(variant, path);
    try {
      return await give(file);
    } catch (error) {
      unusable.abort(error);
      throw error;
    }
  });
  // The bytes are hashed during the load, not before it, so that a warm start does not wait for the check.
  const loading = loadEngine(variant, context);
  // Not every engine ends its load when a file cannot be fetched: transformers.js may wait forever.
  const [engine] = await Promise.allSettled([abortable(loading, unusable.signal)]);
  if (engine.status === 'rejected') loading.then((late) => late.unload()).catch(() => undefined);
  // What the engine can do without is stored too, so that the model is whole; a failure there is none of the engine's.
  if (engine.status === 'fulfilled') await Promise.allSettled([...left].map(fetchFile));
  const intact = (await Promise.all(checks)).every(Boolean);
  if (engine.status === 'fulfilled') return { engine: engine.value, intact };
  if (options.signal.aborted || isLacking(unusable.signal.reason)) throw engine.reason;
  if (intact)
    throw engine.reason instanceof ServiceError
      ? engine.reason
      : ((await findBrokenJson(given)) ?? engine.reason);
  return { engine: null, intact };
}

/** A failed download says nothing about the stored bytes. Damaged ones may look corrupt at first. */
const isLacking = (reason: unknown): boolean =>
  reason instanceof ServiceError && reason.code !== 'weights_corrupt';

function engineContext(
  wasmUrl: string,
  { signal, onProgress, decodeAudio, imageOrigins, builtIn }: LoadOptions,
  file: EngineContext['file'],
): EngineContext {
  return {
    signal,
    file,
    ...(decodeAudio && { decodeAudio }),
    ...(imageOrigins && { imageOrigins }),
    ...(builtIn && { builtIn }),
    wasm: (name) => new URL(name, wasmUrl).href,
    onProgress: (loadedBytes, totalBytes, phase = 'load') => onProgress(phase, loadedBytes, totalBytes),
  };
}

function unlisted({ name }: Variant, path: string): ServiceError {
  return serverError(
    'weights_unavailable',
    `${name} needs the file ${path}, which the catalog does not list.`,
  );
}

/** Each engine is its own chunk, fetched when it is first needed. */
async function loadEngine(variant: Variant, context: EngineContext): Promise<Engine> {
  switch (variant.engine) {
    case 'wllama':
      return (await import('../runtimes/llama-cpp/load-wllama.ts')).loadWllama(variant, context);
    case 'transformers':
      return (await import('../runtimes/onnx/load-transformers.ts')).loadTransformers(variant, context);
    case 'whisper':
      return (await import('../runtimes/whisper/load-whisper.ts')).loadWhisper(variant, context);
    case 'web-llm':
      return (await import('../runtimes/web-llm/load-web-llm.ts')).loadWebLlm(variant, context);
    case 'built-in':
      return (await import('../runtimes/built-in/built-in-engine.ts')).loadBuiltIn(variant, context);
    default:
      throw serverError(
        'model_unavailable',
        `${variant.name} runs on the engine ${variant.engine}, which has no weights to load.`,
      );
  }
}
