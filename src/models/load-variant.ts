import { hasWeights, type Variant, type VariantBase, type WeightFile } from '#catalog';
import type { LoadVariantOptions } from './loaded-model.ts';
import type { StoredFile, WeightStore, ModelStorage, VariantFiles } from '#weights';
import { abortable, toWireError, serverError, ServiceError, type ErrorCode } from '#base';
import type { PageServices } from '#protocol';
import {
  runs,
  engineFileName,
  FileReplaced,
  type Backend,
  type Engine,
  type EngineContext,
  type EnginePlugin,
  type Engines,
} from '#engine-kit';
import type { BackendBenchmark } from './backend-benchmark.ts';
import { checkFormat, closeGguf, findBrokenJson } from '#gguf';
import { lacksScript, requireWasm } from './load-failed.ts';
import { loadProgress, onlyForward } from './load-progress.ts';

/** Failures of a load that do not depend on the backend. */
const FILE_ERRORS = new Set<ErrorCode | null>([
  'build_replaced',
  'download_cancelled',
  'storage_failed',
  'storage_full',
  'weights_corrupt',
  'weights_unavailable',
]);

/** Maximum number of retries after a replaced file: an engine has a script and a WASM file. */
const MAX_AGAIN = 2;

export interface LoaderOptions {
  engines: Engines;
  store: () => Promise<WeightStore>;
  variantFiles: VariantFiles;
  modelStorage: Pick<ModelStorage, 'note' | 'used' | 'withRoom'>;
  benchmark: Pick<BackendBenchmark, 'backend' | 'maybeRun' | 'disable'>;
  /** Absolute URL of the folder with the engines' WASM files, ending in `/`. */
  wasmUrl: string;
  page: PageServices;
}

type Loaded = { engine: Engine; intact: true } | { engine: Engine | null; intact: false };

/** Loads variants in their engines, with files from the store. */
export class VariantLoader {
  readonly #options: LoaderOptions;

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  async load(unresolved: Variant, { onProgress, ...others }: LoadVariantOptions): Promise<Engine> {
    const { benchmark, variantFiles, modelStorage } = this.#options;
    const options = { ...others, onProgress: onlyForward(onProgress) };
    if (hasWeights(unresolved)) requireWasm(unresolved);
    const variant = await variantFiles.resolve(unresolved, options.signal);
    const isMeasured = this.#on(variant, 'wasm') !== undefined;
    const backend = isMeasured ? await benchmark.backend(variant) : null;
    const engine = await this.#load(variant, backend, options).catch((error: unknown) => {
      if (backend !== 'webgpu' || options.signal.aborted || FILE_ERRORS.has(toWireError(error).code))
        throw error;
      // The GPU won the benchmark, but cannot load the model now.
      benchmark.disable(variant);
      return this.#load(variant, 'wasm', options);
    });
    // Housekeeping: answers do not wait for it, nor fail with it.
    modelStorage
      .used(variant)
      .catch((error: unknown) => console.error('localtext: weights were not tidied', error));
    if (isMeasured && runs(engine, 'embedding'))
      benchmark
        .maybeRun(variant, engine, (...other) => this.#loadEmbedder(variant, ...other))
        .catch((error: unknown) => console.warn('localtext: the GPU could not be measured', error));
    return engine;
  }

  /** Loads a second engine on a backend for the benchmark. @throws TypeError if it does not embed */
  async #loadEmbedder(variant: Variant, backend: Backend, signal: AbortSignal): Promise<Engine<'embedding'>> {
    const onBackend = this.#on(variant, backend) ?? variant;
    const engine = await this.#loadIntact(onBackend, { signal, onProgress: () => undefined });
    if (runs(engine, 'embedding')) return engine;
    throw new TypeError(`${variant.name} does not embed`);
  }

  async #load(variant: Variant, backend: Backend | null, options: LoadVariantOptions): Promise<Engine> {
    const { modelStorage } = this.#options;
    const { name, files } = variant;
    const onBackend = (backend && this.#on(variant, backend)) ?? variant;
    return modelStorage.withRoom(files, options.signal, async () => {
      if (files.length > 0) await modelStorage.note(name, files);
      for (let retries = 0; ; retries++) {
        try {
          return await this.#loadIntact(onBackend, options);
        } catch (error) {
          // The file was replaced, or the browser stopped the service worker, which fails its pending requests.
          if (retries === MAX_AGAIN || !(error instanceof FileReplaced || lacksScript(error))) throw error;
        }
      }
    });
  }

  /** Loads an engine from intact files. @throws ServiceError `weights_corrupt` if damaged files cannot be repaired */
  async #loadIntact(variant: VariantBase, options: LoadVariantOptions): Promise<Engine> {
    // The first load drops damaged chunks of stored files; the second downloads them again.
    for (let tries = 1; tries <= 2; tries++) {
      const { engine, intact } = await this.#loadOnce(variant, options);
      if (engine && intact) return engine;
      await engine?.unload();
    }
    const message = `The stored weights of ${variant.name} are damaged and could not be repaired. The device's storage may be failing: free space, or use another device.`;
    throw serverError('weights_corrupt', message);
  }

  async #loadOnce(variant: VariantBase, options: LoadVariantOptions): Promise<Loaded> {
    const store = await this.#options.store();
    const progress = await loadProgress(store, variant.files, options);
    const checks: Promise<boolean>[] = [];
    /** Optional files that follow are no progress: the engine has reported its last phase. */
    let isLoaded = false;
    const fetchFile = async (file: WeightFile): Promise<StoredFile> => {
      const stored = await store.file(file, {
        signal: options.signal,
        onProgress: (loadedBytes) => {
          if (!isLoaded) progress.file(file, loadedBytes);
        },
      });
      if (!isLoaded) progress.stored(file);
      options.onFile?.(file.path, stored.from ?? 'unknown');
      return stored;
    };
    const unread = new Set(variant.files);
    const readFiles: { file: WeightFile; blob: Blob }[] = [];
    const unusable = new AbortController();
    const readFile = async (file: WeightFile): Promise<Blob> => {
      unread.delete(file);
      const stored = await fetchFile(file);
      checks.push(stored.intact);
      await checkFormat(file, stored.blob);
      readFiles.push({ file, blob: stored.blob });
      return stored.blob;
    };
    const context: EngineContext = {
      ...this.#options.page,
      signal: AbortSignal.any([options.signal, unusable.signal]),
      onProgress: options.onProgress,
      wasm: (name) => new URL(engineFileName(name), this.#options.wasmUrl).href,
      file: async (path) => {
        const file = variant.files.find((candidate) => candidate.path === path);
        if (!file) throw unlisted(variant, path);
        try {
          return await readFile(file);
        } catch (error) {
          unusable.abort(error);
          throw error;
        }
      },
    };
    // Stored bytes are hashed during the load, not before it, so that a warm start does not wait for the check.
    const loading = this.#engine(variant).load(variant, context);
    // Some engines do not end when the signal aborts.
    const [engine] = await Promise.allSettled([abortable(loading, unusable.signal)]);
    if (engine.status === 'rejected') loading.then((late) => late.unload()).catch(() => undefined);
    isLoaded = engine.status === 'fulfilled';
    for (const { blob } of readFiles) closeGguf(blob);
    // Also store optional files, so that the model is complete; ignore their failures.
    if (isLoaded) await Promise.allSettled([...unread].map(fetchFile));
    const checked = await Promise.all(checks).catch(async (error: unknown) => {
      if (engine.status === 'fulfilled') await engine.value.unload();
      throw error;
    });
    const intact = checked.every(Boolean);
    if (engine.status === 'fulfilled') return { engine: engine.value, intact };
    if (options.signal.aborted || isLacking(unusable.signal.reason)) throw engine.reason;
    if (intact)
      throw engine.reason instanceof ServiceError
        ? engine.reason
        : ((await findBrokenJson(readFiles)) ?? engine.reason);
    return { engine: null, intact };
  }

  #on(variant: VariantBase, backend: Backend): VariantBase | undefined {
    return this.#engine(variant).onBackend?.(variant, backend);
  }

  #engine({ name, engine }: VariantBase): EnginePlugin {
    const plugin = this.#options.engines[engine];
    if (plugin) return plugin;
    const message = `${name} runs on the engine ${engine}, which has no weights to load.`;
    throw serverError('model_unavailable', message);
  }
}

/** Whether files are missing rather than damaged: `weights_corrupt` may be due to stored bytes that can be repaired. */
const isLacking = (reason: unknown): boolean =>
  reason instanceof ServiceError && reason.code !== 'weights_corrupt';

const unlisted = ({ name }: VariantBase, path: string): ServiceError =>
  serverError('weights_unavailable', `${name} needs the file ${path}, which the catalog does not list.`);
