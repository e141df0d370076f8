import { withoutServers, type AddedModelRecord } from '#catalog';
import { writeAddedModels, writeEngineFacts } from '#database';
import { createWeights, type Weights } from '#weights';
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
  ModelManager,
  StatusChannel,
  variantPlanner,
} from '#models';
import { detectDevice, type Device, type Engines } from '#engine-kit';
import { KeepAlive, type Serving } from './requests/serve-port.ts';

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
  readonly weights: Weights;
  /** The device; undefined until it is detected. */
  #device: Device | undefined;
  readonly #channel: StatusChannel;
  readonly #estimates: Estimates;
  readonly #keepAlive = new KeepAlive();
  readonly #writeFacts: () => void;

  constructor(options: HostOptions) {
    const { epoch, scope, engines, added, page, prefer, limits = {}, modelsUrl, wasmUrl } = options;
    const device = detectDevice();
    void device.then((detected) => (this.#device = detected));
    this.epoch = epoch;
    this.scope = scope;
    this.imageOrigins = options.images?.origins ?? [];

    const loadedModels = new LoadedModels();
    const weights = (this.weights = createWeights({
      scope,
      modelsUrl,
      sources: options.sources ?? {},
      catalog: withoutServers(options.catalog),
      added,
      engines,
      device,
      evict: limits.evict ?? false,
      inUse: (variant) => loadedModels.inUse(variant),
      release: (variant) => loadedModels.release(variant),
      chosen: (id) => this.modelManager.chosen(id),
      save: (models) => writeAddedModels(scope, models),
      requestFiles: (ticket, signal) => requestFiles(scope, ticket, signal),
    }));
    const { store, files } = weights;
    this.#estimates = new Estimates(files, weights.rate, engines);
    this.#channel = new StatusChannel(scope, () => this.status());
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
    const loader = new VariantLoader({
      engines,
      store,
      sources: files,
      modelStorage: weights.storage,
      benchmark,
      wasmUrl,
      page,
    });
    const crashGuard = new CrashGuard(engines, page.loads);
    this.modelManager = new ModelManager({
      catalog: weights.catalog,
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
          room: (variant) => files.room(variant),
          missingBytes: (variant) => files.missingBytes(variant),
          fault: (variant) => engines[variant.engine]?.unmet?.(variant, page) ?? files.fault(variant),
        },
      }),
      budgetBytes: device.then(({ memoryGiB }) => limits.memoryBytes ?? defaultBudget(memoryGiB)),
      variantFacts: { notes, estimates: this.#estimates.known },
      onDeviceLost: (variant) => benchmark.disable(variant),
      onAgain: () => files.dropFailures(),
    });
    this.#writeFacts = factsWriter(
      epoch,
      () => this.modelManager.facts((variant) => files.exactBytes(variant)),
      (known) => writeEngineFacts(scope, known),
    );
    weights.onChange((change) => {
      if (change === 'files') return void this.#refreshEstimates();
      this.modelManager.setCatalog(weights.catalog);
      void this.#planAll();
    });
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
