import { withAdded, withoutServers, type AddedModelRecord } from '#catalog';
import { writeAddedModels, writeEngineFacts } from '#database';
import { openBackend, DownloadRate, ModelStorage, WeightSources, WeightStore } from '#weights';
import {
  requestFiles,
  PROTOCOL_VERSION,
  type EngineStatus,
  type PageServices,
  type WorkerOptions,
} from '#protocol';
import {
  BackendBenchmark,
  factsWriter,
  VariantLoader,
  CrashGuard,
  defaultBudget,
  Estimates,
  LoadedModels,
  ModelAdder,
  ModelManager,
  StatusChannel,
  variantPlanner,
} from '#models';
import { untilFailure } from '#base';
import { detectDevice, type Device, type Engines } from '#engine-kit';
import { KeepAlive, type Serving } from './requests/serve-port.ts';
import type { WeightsService } from './requests/serve-weights.ts';

export interface HostOptions extends WorkerOptions {
  engines: Engines;
  /** Models that the user added. */
  added: AddedModelRecord[];
  page: PageServices;
}

/** Composition root of an engine worker: wires its models, weights and requests. */
export class EngineHost implements Serving {
  readonly epoch: string;
  readonly scope: string;
  readonly imageOrigins: readonly string[];
  readonly locks = navigator.locks;
  readonly modelManager: ModelManager;
  readonly weights: WeightsService;
  /** The device; undefined until it is detected. */
  #device: Device | undefined;
  readonly #channel: StatusChannel;
  readonly #estimates: Estimates;
  readonly #keepAlive = new KeepAlive();
  readonly #writeFacts: () => void;

  constructor(options: HostOptions) {
    const { epoch, scope, engines, added, page, prefer, limits = {}, modelsUrl, wasmUrl } = options;
    const siteCatalog = withoutServers(options.catalog);
    const catalog = withAdded(siteCatalog, added);
    const device = detectDevice();
    void device.then((detected) => (this.#device = detected));
    this.epoch = epoch;
    this.scope = scope;
    this.imageOrigins = options.images?.origins ?? [];

    const rate = new DownloadRate();
    const store = untilFailure(
      async () => new WeightStore(await openBackend(), modelsUrl, navigator.locks, scope, rate),
    );
    // Loads that need the store report the failure.
    store().catch(() => undefined);
    const sources = new WeightSources(store, modelsUrl, options.sources);
    this.#estimates = new Estimates(sources, rate, engines);
    this.#channel = new StatusChannel(scope, () => this.status());
    const loadedModels = new LoadedModels();
    const modelStorage = new ModelStorage({
      catalog,
      store,
      sources,
      evict: limits.evict ?? false,
      inUse: (variant) => loadedModels.inUse(variant),
      release: (variant) => loadedModels.release(variant),
    });
    /** The benchmark's notes by variant. */
    const notes = new Map<string, string>();
    const benchmark = new BackendBenchmark({
      device,
      store,
      notes,
      which: limits.probe ?? 'real-gpu',
      // The URL changes with each build, as script names have a hash.
      version: `${PROTOCOL_VERSION} ${location.href} ${navigator.userAgent}`,
      busy: () => loadedModels.isBusy,
      onResult: ({ name }, { device: faster }) => {
        if (faster === 'webgpu') loadedModels.reload(name).catch(() => undefined);
        this.#channel.changed();
      },
    });
    const loader = new VariantLoader({ engines, store, sources, modelStorage, benchmark, wasmUrl, page });
    const crashGuard = new CrashGuard(engines, page.loads);
    this.modelManager = new ModelManager({
      catalog,
      engines,
      loadedModels,
      load: crashGuard.recorded((variant, loading) =>
        loader.load(variant, loading).finally(() => void this.#refreshEstimates()),
      ),
      onJob: crashGuard.onJob,
      onChange: () => this.#onModelChange(),
      plan: variantPlanner({
        device,
        engines,
        prefer,
        fatal: () => crashGuard.fatal(),
        evict: limits.evict ?? false,
        sources: {
          room: (variant) => sources.room(variant),
          missingBytes: (variant) => sources.missingBytes(variant),
          fault: (variant) => engines[variant.engine]?.unmet?.(variant, page) ?? sources.fault(variant),
        },
      }),
      budgetBytes: device.then(({ memoryGiB }) => limits.memoryBytes ?? defaultBudget(memoryGiB)),
      variantFacts: { notes, estimates: this.#estimates.known },
      onDeviceLost: (variant) => benchmark.disable(variant),
      onAgain: () => sources.dropFailures(),
    });
    this.#writeFacts = factsWriter(
      epoch,
      () => this.modelManager.facts((variant) => sources.exactBytes(variant)),
      (known) => writeEngineFacts(scope, known),
    );
    const adder = new ModelAdder({
      catalog: siteCatalog,
      engines,
      added,
      save: (models) => writeAddedModels(scope, models),
      publish: (changed) => {
        this.modelManager.setCatalog(changed);
        modelStorage.setCatalog(changed);
        void this.#planAll();
      },
      store,
      sources,
      modelStorage,
      device,
      requestFiles: (ticket, signal) => requestFiles(scope, ticket, signal),
    });
    this.weights = {
      store,
      modelStorage,
      sources,
      adder,
      variantOf: (target) => modelStorage.name(target, this.modelManager.chosen(target)),
      onChange: () => void this.#refreshEstimates(),
    };
    void this.#planAll();
  }

  status(): EngineStatus {
    const { gpu, memoryGiB } = this.#device ?? { memoryGiB: null };
    return {
      epoch: this.epoch,
      deviceMemoryBytes: memoryGiB && memoryGiB * 2 ** 30,
      ...(gpu !== undefined && { gpu: gpu && !gpu.fallback ? gpu.name : null }),
      models: this.modelManager.status(),
    };
  }

  onRequest(): () => void {
    const release = this.#keepAlive.hold();
    this.#channel.changed();
    return () => {
      release();
      this.#channel.changed();
    };
  }

  #onModelChange(): void {
    this.#channel.changed();
    this.#writeFacts();
  }

  async #refreshEstimates(): Promise<void> {
    await this.#estimates.refresh(this.modelManager.catalog);
    this.#channel.changed();
  }

  async #planAll(): Promise<void> {
    try {
      await this.modelManager.planAll();
      await this.#refreshEstimates();
    } catch (error) {
      console.error('localtext: no plan for the models', error);
    }
  }
}
