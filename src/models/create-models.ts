import type { Device, Engines } from '#engine-kit';
import type { ModelFacts, PageServices, WorkerOptions } from '#protocol';
import type { Weights } from '#weights';
import { BackendBenchmark } from './backend-benchmark.ts';
import { CrashGuard } from './crash-guard.ts';
import { factsWriter } from './engine-facts.ts';
import { VariantLoader } from './load-variant.ts';
import type { LoadedModels } from './loaded-models.ts';
import { createEstimates, defaultBudget } from './memory-budget.ts';
import { ModelManager } from './model-manager.ts';
import { variantPlanner } from './variant-choice.ts';

export interface ModelsOptions extends Pick<WorkerOptions, 'prefer' | 'limits' | 'wasmUrl'> {
  engines: Engines;
  weights: Weights;
  loadedModels: LoadedModels;
  device: Promise<Device>;
  page: PageServices;
  /** Identifies this build and browser, for which measured speeds hold. */
  build: string;
  /** Saves the facts for `GET /v1/models`, by model id. */
  saveFacts(facts: Record<string, ModelFacts>): Promise<void>;
  /** Called after each change of a model's status. */
  onChange(): void;
}

/** Creates the models of a site and of the user. A variant is chosen for each at once, and loaded for its first request. */
export function createModels(options: ModelsOptions): ModelManager {
  const { engines, device, page, prefer, limits = {}, loadedModels, weights, wasmUrl } = options;
  const { store, files, storage, rate } = weights;
  const { evict = false, probe = 'real-gpu', memoryBytes } = limits;
  const estimates = createEstimates({ files, rate, engines });
  /** The benchmark's notes by variant. */
  const notes = new Map<string, string>();
  const benchmark = new BackendBenchmark({
    device,
    store,
    notes,
    which: probe,
    version: options.build,
    busy: () => [...loadedModels.keys()].some((variant) => loadedModels.isBusy(variant)),
    onResult: ({ name }, { backend: faster }) => {
      if (faster === 'webgpu') loadedModels.reload(name).catch(() => undefined);
      options.onChange();
    },
  });
  const loader = new VariantLoader({
    engines,
    store,
    variantFiles: files,
    modelStorage: storage,
    benchmark,
    wasmUrl,
    page,
  });
  const crashGuard = new CrashGuard(engines, page.loads);
  const manager: ModelManager = new ModelManager({
    catalog: weights.catalog,
    engines,
    loadedModels,
    load: crashGuard.recorded((variant, loading) => loader.load(variant, loading).finally(weightsChanged)),
    crashGuard,
    onChange: () => {
      options.onChange();
      writeFacts();
    },
    plan: variantPlanner({
      device,
      engines,
      prefer,
      fatal: () => crashGuard.fatal(),
      evict,
      variantFiles: {
        room: (variant) => files.room(variant),
        missingBytes: (variant) => files.missingBytes(variant),
        fault: async (variant) =>
          (await engines[variant.engine]?.unmet?.(variant, page)) ?? (await files.fault(variant)),
      },
    }),
    budgetBytes: device.then(({ memoryGiB }) => memoryBytes ?? defaultBudget(memoryGiB)),
    variantDetails: { notes, estimates: estimates.known },
    onDeviceLost: (variant) => benchmark.disable(variant),
    onAgain: () => files.dropFailures(),
  });
  const writeFacts = factsWriter(
    () => manager.facts((variant) => files.exactBytes(variant)),
    options.saveFacts,
  );
  const planAll = (): Promise<void> =>
    manager.plan().then(weightsChanged, (error: unknown) => {
      console.error('localtext: no plan for the models', error);
    });
  weights.onChange((change) => {
    if (change === 'files') return weightsChanged();
    manager.setCatalog(weights.catalog);
    void planAll();
  });
  void planAll();
  return manager;

  function weightsChanged(): void {
    void estimates.refresh(manager.catalog).then(options.onChange);
  }
}
