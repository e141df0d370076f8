import { expose, proxy } from 'comlink';

import { type AddedModelRecord, withAdded } from '../catalog/added-models.ts';
import { withoutServers } from '../catalog/catalog.ts';
import { readAddedModels, writeAddedModels, writeEngineFacts } from '../database/database.ts';
import { takeFiles } from '../protocol/added-files.ts';
import type { BuiltInModel } from '../protocol/built-in.ts';
import type { DecodeAudio, EngineStatus, WorkerControl, WorkerOptions } from '../protocol/worker-control.ts';
import type { ServePort } from '../protocol/discovery.ts';
import { openCrossOriginStorage, type SharedFiles } from '../util/cross-origin-storage.ts';
import { engineLock, holdLock } from '../protocol/locks.ts';
import { hasTrustedTypes, trusting } from '../util/trusted-urls.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { detectDevice } from './device/device.ts';
import { KeepAlive, serveLinked, type Serving } from './requests/serve-port.ts';
import { defaultBudget, Estimates } from './models/memory-budget.ts';
import { loadIntact, variantLoader } from './models/load-variant.ts';
import { DownloadRate } from '../model-files/download/download-rate.ts';
import { BackendBenchmark } from './benchmark/backend-benchmark.ts';
import { FactsWriter } from './models/facts-writer.ts';
import { ModelAdder } from './models/model-adder.ts';
import { ModelManager } from './models/model-manager.ts';
import { StatusChannel } from './models/model-status.ts';
import { variantPlanner } from './models/variant-choice.ts';
import { runs } from './runtimes/engine.ts';
import type { TemplateHost } from './runtimes/template/template-worker.ts';
import { builtInFault } from './runtimes/built-in/built-in-fault.ts';
import type { OnnxHost } from './runtimes/onnx/onnx-worker.ts';
import type { WhisperHost } from './runtimes/whisper/whisper-worker.ts';
import { ModelStorage } from '../model-files/model-storage.ts';
import { CrossOriginSource } from '../model-files/cross-origin-source.ts';
import { WeightSources } from '../model-files/sources/weight-sources.ts';
import { openBackend } from '../model-files/backends/open-backend.ts';
import { WeightStore } from '../model-files/weight-store.ts';

// onnxruntime-web starts its threads by a plain URL.
if (hasTrustedTypes()) globalThis.Worker = trusting(Worker);

const control: WorkerControl & OnnxHost & WhisperHost & TemplateHost = {
  async start(options, shared, decodeAudio, builtIn) {
    if (options.version !== PROTOCOL_VERSION) {
      throw new Error(`protocol_mismatch: the engine worker speaks version ${PROTOCOL_VERSION}`);
    }
    // The lock first: an asker watches it as soon as its port is accepted.
    await holdLock(navigator.locks, engineLock(options.epoch));
    const serving = begin(options, await readAdded(options.scope), shared, decodeAudio, builtIn);
    addEventListener('message', ({ data, ports: [port] }: MessageEvent<ServePort | undefined>) => {
      if (data?.type === 'localtext:serve' && port) serveLinked(port, serving);
    });
  },

  ping: () => Promise.resolve(),

  async onnxWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/onnx/onnx-worker.ts')).onnxWorker);
  },

  async templateWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/template/template-worker.ts')).templateWorker);
  },

  async whisperWorker(lock) {
    await holdLock(navigator.locks, lock);
    return proxy((await import('./runtimes/whisper/whisper-worker.ts')).whisperWorker);
  },
};

function begin(
  {
    epoch,
    scope,
    catalog: whole,
    modelsUrl,
    wasmUrl,
    prefer = [],
    limits = {},
    images = {},
    ...options
  }: WorkerOptions,
  added: AddedModelRecord[],
  pageFiles: SharedFiles | null,
  decodeAudio: DecodeAudio,
  builtIn: BuiltInModel | null,
): Serving {
  const siteCatalog = withoutServers(whole);
  const catalog = withAdded(siteCatalog, added);
  let deviceMemoryBytes: number | null = null;
  let gpu: string | null | undefined;
  const status = (): EngineStatus => ({
    epoch,
    deviceMemoryBytes,
    ...(gpu !== undefined && { gpu }),
    models: modelManager.status(),
  });
  const channel = new StatusChannel(scope, status);
  const facts = new FactsWriter(
    epoch,
    () => modelManager.facts((variant) => sources.exactBytes(variant)),
    (known) => writeEngineFacts(scope, known),
  );
  const rate = new DownloadRate();
  const sharedFiles = options.sources?.crossOriginStorage ? (openCrossOriginStorage() ?? pageFiles) : null;
  const shared = sharedFiles && new CrossOriginSource(sharedFiles);
  const store = openBackend().then(
    (backend) => new WeightStore(backend, modelsUrl, navigator.locks, scope, { rate, shared }),
  );
  const sources = new WeightSources(store, modelsUrl, options.sources);
  const modelStorage = new ModelStorage({
    catalog,
    store,
    sources,
    evict: limits.evict ?? false,
    chosen: (model) => modelManager.chosen(model),
    inUse: (variant) => modelManager.inUse(variant),
    release: (variant) => modelManager.release(variant),
  });
  const estimates = new Estimates(sources, rate);
  /** Of the benchmark, by variant. */
  const notes = new Map<string, string>();
  const load = variantLoader({
    store,
    sources,
    modelStorage,
    benchmark: () => benchmark,
    wasmUrl,
    decodeAudio,
    imageOrigins: images.origins ?? [],
    builtIn,
  });
  const device = detectDevice();
  void device.then(({ memoryGiB }) => (deviceMemoryBytes = memoryGiB && memoryGiB * 2 ** 30));
  void device.then((found) => (gpu = found.gpu && !found.gpu.fallback ? found.gpu.name : null));
  const modelManager = new ModelManager(
    catalog,
    (variant, loading) => load(variant, loading).finally(refreshEstimates),
    () => {
      channel.changed();
      facts.changed();
    },
    variantPlanner(
      device,
      {
        missingBytes: (variant) => sources.missingBytes(variant),
        fault: (variant) =>
          variant.engine === 'built-in' ? builtInFault(builtIn, variant) : sources.fault(variant),
      },
      prefer,
    ),
    device.then(({ memoryGiB }) => limits.memoryBytes ?? defaultBudget(memoryGiB)),
    { notes, estimates: estimates.known },
    (variant) => benchmark.disable(variant),
  );
  const benchmark = new BackendBenchmark({
    device,
    store,
    notes,
    which: limits.probe ?? 'real-gpu',
    // A build's scripts have other names than the one's before it.
    version: `${PROTOCOL_VERSION} ${location.href} ${navigator.userAgent}`,
    load: async (variant, backend, signal) => {
      const resolved = await sources.resolve(variant, signal);
      const loading = { signal, onProgress: () => undefined };
      const engine = await loadIntact(await store, wasmUrl, { ...resolved, device: backend }, loading);
      if (runs(engine, 'embedding')) return engine;
      throw new TypeError(`${variant.name} does not embed`);
    },
    busy: () => modelManager.busy,
    onResult: (variant, { device: faster }) => {
      if (faster === 'webgpu') modelManager.reload(variant.name).catch(() => undefined);
      channel.changed();
    },
  });
  let current = catalog;
  const refreshEstimates = () => estimates.refresh(current).then(() => channel.changed());
  const planAll = () =>
    modelManager
      .planAll()
      .then(refreshEstimates)
      .catch((error: unknown) => console.error('localtext: no plan for the models', error));
  void planAll();
  const adder = new ModelAdder({
    catalog: siteCatalog,
    added,
    save: (models) => writeAddedModels(scope, models),
    publish(all) {
      current = all;
      modelManager.setCatalog(all);
      modelStorage.setCatalog(all);
      void planAll();
    },
    store,
    sources,
    modelStorage,
    device,
    takeFiles: (ticket, signal) => takeFiles(scope, ticket, signal),
  });
  const keepAlive = new KeepAlive();
  return {
    epoch,
    scope,
    modelManager,
    status,
    locks: navigator.locks,
    weights: { store, modelStorage, sources, adder, onChange: () => void refreshEstimates() },
    onRequest() {
      const release = keepAlive.hold();
      channel.changed();
      return () => {
        release();
        channel.changed();
      };
    },
  };
}

/** Where the browser refuses the database, the site's own models still answer. */
async function readAdded(scope: string): Promise<AddedModelRecord[]> {
  try {
    return await readAddedModels(scope);
  } catch (error) {
    console.error('localtext: the added models cannot be read', error);
    return [];
  }
}

expose(control);
