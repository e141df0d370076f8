import type { Variant } from '../catalog/catalog.ts';
import type { EngineContext } from './engine.ts';
import { EngineError } from './engine-error.ts';
import type { Engine, LoadVariant, LoadVariantOptions } from './residency.ts';
import { loadProgress } from './weights/load-progress.ts';
import type { WeightStore } from './weights/weight-store.ts';

/** Loads a variant by its engine, with its files out of the store. */
export function variantLoader(store: Promise<WeightStore>, wasmUrl: string): LoadVariant {
  return async (variant, options) => {
    const first = await loadOnce(await store, wasmUrl, variant, options);
    if (first.intact) return first.engine;
    // A stored file had rotted and has been dropped: its bytes come from the network now.
    await first.engine?.unload();
    const second = await loadOnce(await store, wasmUrl, variant, options);
    if (second.engine && second.intact) return second.engine;
    await second.engine?.unload();
    throw new EngineError({
      code: 'weights_corrupt',
      message: `The stored weights of ${variant.name} are damaged and could not be mended. The device's storage may be failing.`,
    });
  };
}

type Loaded = { engine: Engine; intact: true } | { engine: Engine | null; intact: false };

async function loadOnce(
  store: WeightStore,
  wasmUrl: string,
  variant: Variant,
  options: LoadVariantOptions,
): Promise<Loaded> {
  const progress = await loadProgress(store, variant.files, options);
  const checks: Promise<boolean>[] = [];
  const context: EngineContext = {
    signal: options.signal,
    wasm: (name) => new URL(name, wasmUrl).href,
    onProgress: (loadedBytes, totalBytes) => options.onProgress('load', loadedBytes, totalBytes),
    async file(path) {
      const file = variant.files.find((candidate) => candidate.path === path);
      if (!file) {
        throw new EngineError({
          code: 'weights_unavailable',
          message: `${variant.name} needs the file ${path}, which the catalog does not list.`,
        });
      }
      const stored = await store.file(file, {
        signal: options.signal,
        onProgress: (loadedBytes) => progress.file(file, loadedBytes),
      });
      progress.file(file, file.bytes);
      checks.push(stored.intact);
      return stored.blob;
    },
  };
  // The bytes are hashed beside the load, not before it: a warm start need not wait for its own check.
  const [engine] = await Promise.allSettled([loadEngine(variant, context)]);
  const intact = (await Promise.all(checks)).every(Boolean);
  if (engine.status === 'fulfilled') return { engine: engine.value, intact };
  if (intact || options.signal.aborted) throw engine.reason;
  return { engine: null, intact };
}

/** Each engine is a chunk of its own, fetched when it is first needed. */
async function loadEngine(variant: Variant, context: EngineContext): Promise<Engine> {
  switch (variant.engine) {
    case 'wllama':
      return (await import('./engines/wllama.ts')).loadWllama(variant, context);
    case 'transformers':
      return (await import('./engines/transformers.ts')).loadTransformers(variant, context);
    default:
      throw new EngineError({
        code: 'model_unavailable',
        message: `${variant.name} runs on the engine ${variant.engine}, which this version does not have.`,
      });
  }
}
