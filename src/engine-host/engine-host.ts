import { loadId } from './models/load-id.ts';
import { type AddedModelRecord, withAdded } from '../catalog/added-models.ts';
import { type Catalog, hasWeights, type Variant, withoutServers } from '../catalog/catalog.ts';
import { writeAddedModels, writeEngineFacts } from '../database/database.ts';
import { openBackend } from '../model-files/backends/open-backend.ts';
import { CrossOriginSource } from '../model-files/cross-origin-source.ts';
import { DownloadRate } from '../model-files/download/download-rate.ts';
import { ModelStorage } from '../model-files/model-storage.ts';
import { WeightSources } from '../model-files/sources/weight-sources.ts';
import { WeightStore } from '../model-files/weight-store.ts';
import { takeFiles } from '../protocol/added-files.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { EngineStatus, PageServices, WorkerOptions } from '../protocol/worker-control.ts';
import { withTimeout } from '../util/async.ts';
import { openCrossOriginStorage, type SharedFiles } from '../util/cross-origin-storage.ts';
import { BackendBenchmark } from './backend-benchmark.ts';
import { detectDevice, type Device } from '../engines/device.ts';
import { factsWriter } from './models/facts-writer.ts';
import { VariantLoader } from './models/load-variant.ts';
import type { LoadVariantOptions } from './models/loaded-model.ts';
import { defaultBudget, Estimates } from './models/memory-budget.ts';
import { ModelAdder } from './models/model-adder.ts';
import { ModelManager } from './models/model-manager.ts';
import { StatusChannel } from './models/model-status.ts';
import { variantPlanner } from './models/variant-choice.ts';
import { KeepAlive, type Serving } from './requests/serve-port.ts';
import type { WeightsService } from './requests/serve-weights.ts';
import { type Engine, type Engines, runs } from '../engines/engine.ts';

/** How long a page may take to answer, in milliseconds. */
const PAGE_MS = 1000;

export interface HostOptions extends WorkerOptions {
  engines: Engines;
  /** Models that the user added. */
  added: AddedModelRecord[];
  page: PageServices;
  /** The page's cross-origin storage, for a worker that has none. */
  pageFiles: SharedFiles | null;
}

/** The models, weights and requests of an engine worker. */
export class EngineHost implements Serving {
  readonly epoch: string;
  readonly scope: string;
  readonly imageOrigins: readonly string[];
  readonly locks = navigator.locks;
  readonly modelManager: ModelManager;
  readonly weights: WeightsService;
  readonly #device = detectDevice();
  /** Device; absent until it is detected. */
  #found: Device | undefined;
  #catalog: Catalog;
  readonly #channel: StatusChannel;
  readonly #estimates: Estimates;
  readonly #benchmark: BackendBenchmark;
  readonly #loader: VariantLoader;
  readonly #keepAlive = new KeepAlive();
  readonly #page: PageServices;
  readonly #engines: Engines;
  /** Loads, and jobs before the first token that the load was to give. */
  readonly #underWay = new Set<string>();
  /** Variants in memory that have not generated a token yet. */
  readonly #untried = new Set<Variant>();

  constructor(options: HostOptions) {
    const { epoch, scope, engines, added, page, prefer = [], limits = {}, modelsUrl, wasmUrl } = options;
    const siteCatalog = withoutServers(options.catalog);
    const device = this.#device;
    this.epoch = epoch;
    this.#page = page;
    this.#engines = engines;
    this.scope = scope;
    this.imageOrigins = options.images?.origins ?? [];
    this.#catalog = withAdded(siteCatalog, added);
    void device.then((found) => (this.#found = found));

    const rate = new DownloadRate();
    const store = openStore(options, rate);
    const sources = new WeightSources(store, modelsUrl, options.sources);
    this.#estimates = new Estimates(sources, rate, engines);
    this.#channel = new StatusChannel(scope, () => this.status());
    const factsChanged = factsWriter(
      epoch,
      () => this.modelManager.facts((variant) => sources.exactBytes(variant)),
      (known) => writeEngineFacts(scope, known),
    );
    /** Notes of the benchmark by variant. */
    const notes = new Map<string, string>();
    this.modelManager = new ModelManager({
      catalog: this.#catalog,
      engines,
      load: (variant, loading) => this.#load(variant, loading),
      onJob: (variant, step) => {
        if (!this.#untried.has(variant)) return;
        if (step === 'answering') this.#untried.delete(variant);
        void this.#noteLoad(variant, step === 'begun');
      },
      onChange: () => {
        this.#channel.changed();
        factsChanged();
      },
      plan: variantPlanner({
        device,
        engines,
        prefer,
        fatal: () => this.#askPage(page.loads.fatal(), []),
        sources: {
          missingBytes: (variant) => sources.missingBytes(variant),
          fault: (variant) => engines[variant.engine]?.unmet?.(variant, page) ?? sources.fault(variant),
        },
      }),
      budgetBytes: device.then(({ memoryGiB }) => limits.memoryBytes ?? defaultBudget(memoryGiB)),
      facts: { notes, estimates: this.#estimates.known },
      onDeviceLost: (variant) => this.#benchmark.disable(variant),
    });
    const modelStorage = new ModelStorage({
      catalog: this.#catalog,
      store,
      sources,
      evict: limits.evict ?? false,
      chosen: (model) => this.modelManager.chosen(model),
      inUse: (variant) => this.modelManager.inUse(variant),
      release: (variant) => this.modelManager.release(variant),
    });
    this.#benchmark = new BackendBenchmark({
      device,
      store,
      notes,
      which: limits.probe ?? 'real-gpu',
      // A build's scripts have other names than those of the build before.
      version: `${PROTOCOL_VERSION} ${location.href} ${navigator.userAgent}`,
      load: async (variant, backend, signal) => {
        const engine = await this.#loader.loadOn(variant, backend, signal);
        if (runs(engine, 'embedding')) return engine;
        throw new TypeError(`${variant.name} does not embed`);
      },
      busy: () => this.modelManager.busy,
      onResult: ({ name }, { device: faster }) => {
        if (faster === 'webgpu') this.modelManager.reload(name).catch(() => undefined);
        this.#channel.changed();
      },
    });
    this.#loader = new VariantLoader({
      engines,
      store,
      sources,
      modelStorage,
      benchmark: this.#benchmark,
      wasmUrl,
      page,
    });
    const adder = new ModelAdder({
      catalog: siteCatalog,
      engines,
      added,
      save: (models) => writeAddedModels(scope, models),
      publish: (catalog) => {
        this.#catalog = catalog;
        this.modelManager.setCatalog(catalog);
        modelStorage.setCatalog(catalog);
        void this.#planAll();
      },
      store,
      sources,
      modelStorage,
      device,
      takeFiles: (ticket, signal) => takeFiles(scope, ticket, signal),
    });
    this.weights = { store, modelStorage, sources, adder, onChange: () => void this.#refreshEstimates() };
    void this.#planAll();
  }

  status(): EngineStatus {
    const { gpu, memoryGiB } = this.#found ?? { memoryGiB: null };
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

  async #load(variant: Variant, loading: LoadVariantOptions): Promise<Engine> {
    let ended = false;
    try {
      const engine = await this.#loader.load(variant, {
        ...loading,
        onProgress: (phase, ...bytes) => {
          // What ends a tab during a download is not the model's size.
          if (phase !== 'download' && !ended) void this.#noteLoad(variant, hasWeights(variant));
          loading.onProgress(phase, ...bytes);
        },
      });
      if (hasWeights(variant)) this.#untried.add(variant);
      return engine;
    } finally {
      ended = true;
      // A tab that ends while the model is idle says nothing about it.
      void this.#noteLoad(variant, false);
      void this.#refreshEstimates();
    }
  }

  /** A page that is out of memory ends without a farewell: what it was doing is noted before. */
  async #noteLoad(variant: Pick<Variant, 'name' | 'files'>, isUnderWay: boolean): Promise<void> {
    const id = loadId(variant, this.#engines);
    if (this.#underWay.has(id) === isUnderWay) return;
    if (isUnderWay) this.#underWay.add(id);
    else this.#underWay.delete(id);
    await this.#askPage(this.#page.loads.begun([...this.#underWay]), undefined);
  }

  /** A page that is blocked holds nothing up. */
  async #askPage<T>(answer: Promise<T>, otherwise: T): Promise<T> {
    const known = await withTimeout(
      answer.catch(() => otherwise),
      PAGE_MS,
    );
    return known ?? otherwise;
  }

  async #refreshEstimates(): Promise<void> {
    await this.#estimates.refresh(this.#catalog);
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

async function openStore(
  { scope, modelsUrl, sources, pageFiles }: HostOptions,
  rate: DownloadRate,
): Promise<WeightStore> {
  const files = sources?.crossOriginStorage ? (openCrossOriginStorage() ?? pageFiles) : null;
  const shared = files && new CrossOriginSource(files);
  return new WeightStore(await openBackend(), modelsUrl, navigator.locks, scope, { rate, shared });
}
