import { hasWeights, type Catalog, type CatalogModel, type Variant } from '#catalog';
import type { ModelStatus, OnProgress, Progress, ModelFacts } from '#protocol';
import { abortable, toWireError, requestError } from '#base';
import { answers, type Job, type Kind } from '#jobs';
import type { Engine, Engines } from '#engine-kit';
import type { CrashGuard } from './crash-guard.ts';
import { memoryBudget } from './memory-budget.ts';
import { modelFacts } from './engine-facts.ts';
import { modelStatus, noVariant, type VariantDetails } from './model-status.ts';
import { LoadedModel, type LoadVariant } from './loaded-model.ts';
import type { LoadedModels } from './loaded-models.ts';
import type { Plan, PlanVariants } from './variant-choice.ts';

/** Errors after which an engine is unusable. The next request reloads it, or loads the next variant. */
const FATAL = new Set(['engine_crashed', 'device_lost', 'out_of_memory']);

/** Failures of a load that a retry would repeat. */
const PERMANENT_FAILURES = new Set(['out_of_memory', 'device_unsupported']);

/**
 * Failures of a load after which no other variant is tried: the engine's files are gone, or
 * the user cancelled the download.
 */
const FINAL_LOAD_ERRORS = new Set(['build_replaced', 'download_cancelled']);

/** Number of GPU losses, or of failures of the browser's model, after which a variant is not tried again. */
const MAX_LOSSES = 2;

const isShort = (error: unknown): boolean => toWireError(error).code === 'out_of_memory';

/** Restricts which of a model's variants a request may use. */
type VariantFilter = Pick<Job, 'variants' | 'deviceOnly'>;

export interface ModelManagerOptions {
  catalog: Catalog;
  engines: Engines;
  /** Filled by the manager. */
  loadedModels: LoadedModels;
  load: LoadVariant;
  onChange: () => void;
  plan: PlanVariants;
  /** Maximum memory of all models together. */
  budgetBytes: Promise<number>;
  variantDetails: VariantDetails;
  onDeviceLost: (variant: Variant) => void;
  /** Called when a load is requested that may have failed before. */
  onAgain: () => void;
  crashGuard: Pick<CrashGuard, 'onJob'>;
}

/** Loads models and keeps them in memory. Models that share a variant share its engine and queue. */
export class ModelManager {
  readonly crashGuard: ModelManagerOptions['crashGuard'];
  readonly #options: ModelManagerOptions;
  #catalog: Catalog;
  readonly #loadedModels: LoadedModels;
  readonly #plans = new Map<string, Plan>();
  /** Number of GPU losses, and of failures of the browser's model, by variant. */
  readonly #losses = new Map<string, number>();
  readonly #faults = new Map<string, string>();
  /**
   * The fewest models in memory beside which a variant lacked memory, by its name. With none, it unloads no others until
   * a retry is asked for.
   */
  readonly #shortages = new Map<string, number>();
  readonly #memory;

  constructor(options: ModelManagerOptions) {
    this.#options = options;
    this.crashGuard = options.crashGuard;
    this.#catalog = options.catalog;
    this.#loadedModels = options.loadedModels;
    this.#memory = memoryBudget(options.budgetBytes, this.#loadedModels, options.engines);
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** Returns the variant that answers for this id: the first that has not failed, or else the first. */
  loadedModel(id: string, kind: Kind, limit: VariantFilter): LoadedModel {
    const model = this.#model(id, kind);
    const loadedModels = this.#allowed(model, limit, this.#candidates(id));
    const loadedModel = loadedModels.find(({ state }) => state !== 'failed') ?? loadedModels[0];
    if (!loadedModel) throw noVariant(id, this.#plans.get(id)?.reasons ?? [], limit.deviceOnly);
    return loadedModel;
  }

  /**
   * Loads a model unless it is in memory, trying its variants in order, also those that failed before.
   * The error of a recent lack of memory is repeated until a model is unloaded.
   * @param options `replan`: chooses among all variants again even if one is in memory, and repeats no error
   * @param optional whether to repeat the error of any recent failure, as the caller can do without the model
   * @throws the last variant's error if none could be loaded
   */
  async ready(
    id: string,
    signal: AbortSignal,
    { onProgress, replan, ...limit }: { onProgress?: OnProgress; replan?: boolean } & VariantFilter = {},
    optional = false,
  ): Promise<LoadedModel> {
    const model = this.#model(id);
    if (replan) this.#shortages.clear();
    const isReady = model.variants.some(({ name }) => this.#loadedModels.get(name)?.state === 'ready');
    if (!optional && (replan || !isReady)) this.#dropFailures(model);
    const plan = await abortable(this.#planned(model), signal);
    let failure: unknown = null;
    const candidates = this.#allowed(model, limit, plan.candidates);
    for (const [at, loadedModel] of candidates.entries()) {
      const later = candidates.slice(at + 1);
      if (loadedModel.state === 'failed' && later.some(({ state }) => state === 'ready')) continue;
      try {
        const report = (progress: Progress) => onProgress?.({ model: id, ...progress });
        await this.#load(loadedModel, signal, report, optional);
        loadedModel.lastUsed = performance.now();
        // A failure may have cleared the plan. Plan again, so that the status shows the failed variants.
        await this.#planned(model);
        return loadedModel;
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
        if (FINAL_LOAD_ERRORS.has(toWireError(error).code ?? '')) break;
        if (later.length > 0) this.#giveUp(loadedModel.variant, error);
      }
    }
    throw failure ?? noVariant(id, plan.reasons, limit.deviceOnly);
  }

  async #load(
    loadedModel: LoadedModel,
    signal: AbortSignal,
    onProgress: (progress: Progress) => void,
    optional: boolean,
  ): Promise<void> {
    const { variant } = loadedModel;
    const load = (repeatError: boolean) =>
      abortable(loadedModel.load(signal, onProgress, repeatError), signal);
    const known = this.#shortages.get(variant.name) ?? Number.POSITIVE_INFINITY;
    try {
      await load(optional || this.#inMemory >= known).catch(async (error: unknown) => {
        signal.throwIfAborted();
        // Unloading other models may free enough memory. Those are worth more than what a request can do without.
        const short = !optional && isShort(error) && known > 0;
        if (!short || !(await this.#memory.unloadIdle(variant))) throw error;
        await load(false);
      });
      this.#shortages.delete(variant.name);
    } catch (error) {
      if (isShort(error)) this.#shortages.set(variant.name, Math.min(known, this.#inMemory));
      throw error;
    }
  }

  get #inMemory(): number {
    return [...this.#loadedModels.values()].filter(({ engine }) => engine).length;
  }

  #dropFailures(model: CatalogModel): void {
    this.#options.onAgain();
    const hasEndedTab = this.#plans.get(model.id)?.reasons.some(({ endedTab }) => endedTab);
    // The browser may now offer its own model.
    if (this.#lacksExternal(model) || hasEndedTab) this.#plans.delete(model.id);
  }

  /** Names of the model's later variants that the request may use. */
  after(id: string, { name }: Variant, limit: VariantFilter): string[] {
    const candidates = this.#allowed(this.#model(id), limit, this.#candidates(id));
    const names = candidates.map(({ variant }) => variant.name);
    return names.slice(names.indexOf(name) + 1);
  }

  /** Whether the browser's own model is a variant but not a candidate. It may be available by now. */
  #lacksExternal({ id, variants }: CatalogModel): boolean {
    const external = variants.find((variant) => !hasWeights(variant));
    return external !== undefined && !this.#candidates(id)?.includes(external);
  }

  /** Records that this device cannot run a variant, so that it is not tried a second time. */
  #giveUp({ name }: Variant, error: unknown): void {
    const { code, message } = toWireError(error);
    if (code === null || !PERMANENT_FAILURES.has(code)) return;
    this.#faults.set(name, `could not be loaded: ${message}`);
    this.#plans.clear();
  }

  /** Replaces the catalog after models were added or removed. Other models stay in memory. */
  setCatalog(catalog: Catalog): void {
    this.#catalog = catalog;
    const variants = new Set(catalog.models.flatMap((model) => model.variants.map(({ name }) => name)));
    for (const id of this.#plans.keys())
      if (!catalog.models.some((model) => model.id === id)) this.#plans.delete(id);
    for (const name of this.#loadedModels.keys()) {
      if (variants.has(name)) continue;
      for (const facts of [this.#loadedModels, this.#faults, this.#losses, this.#shortages])
        facts.delete(name);
    }
  }

  /** Chooses a variant for the model, or for every model, before its first request: the status shows it, and commands need it. */
  async plan(id?: string): Promise<void> {
    const models = this.#catalog.models.filter((model) => (id ?? model.id) === model.id);
    await Promise.all(models.map((model) => this.#planned(model)));
    this.#options.onChange();
  }

  /**
   * Drops an engine that failed with a fatal error. After `MAX_LOSSES` lost GPUs, or failures of the browser's own
   * model, its variant is not tried again.
   */
  async failed(loadedModel: LoadedModel, engine: Engine, error: unknown): Promise<void> {
    const { code } = toWireError(error);
    if (code === null || !FATAL.has(code) || loadedModel.engine !== engine) return;
    const { variant } = loadedModel;
    const { name } = variant;
    if (code === 'device_lost') this.#options.onDeviceLost(variant);
    if (code === 'device_lost' || !hasWeights(variant)) {
      const losses = (this.#losses.get(name) ?? 0) + 1;
      this.#losses.set(name, losses);
      const what = hasWeights(variant) ? 'lost the GPU' : 'failed';
      if (losses >= MAX_LOSSES) this.#faults.set(name, `${what} ${losses} times`);
    }
    this.#plans.clear();
    await loadedModel.drop(engine);
  }

  /** Name of the variant that answers for a model, or would; undefined if none is chosen yet. */
  chosen(id: string): string | undefined {
    const candidates = this.#candidates(id) ?? [];
    const working = candidates.find(({ name }) => this.#loadedModels.get(name)?.state !== 'failed');
    return (working ?? candidates[0])?.name;
  }

  /**
   * Facts of the models that have a chosen variant, by id.
   * @param exactBytes resolves to null if only the hub knows the size
   */
  async facts(exactBytes: (variant: Variant) => Promise<number | null>): Promise<Record<string, ModelFacts>> {
    const facts: Record<string, ModelFacts> = {};
    for (const model of this.#catalog.models) {
      const chosen = this.chosen(model.id);
      const variant = model.variants.find(({ name }) => name === chosen);
      if (!variant) continue;
      const bytes = await exactBytes(variant);
      const engine = this.#loadedModels.get(variant.name)?.engine ?? null;
      facts[model.id] = modelFacts(model, variant, bytes, engine, this.#options.engines);
    }
    return facts;
  }

  /** What a model may load, once it is planned. A plan without candidates is kept only for its reasons. */
  #candidates(id: string): Variant[] | undefined {
    const plan = this.#plans.get(id);
    return plan?.candidates.length ? plan.candidates : undefined;
  }

  /** Plans a model. The plan is kept until a failure, so that the variant does not change between requests. */
  async #planned(model: CatalogModel): Promise<Plan> {
    const known = this.#plans.get(model.id);
    if (known?.candidates.length) return known;
    const plan = await this.#options.plan(model, this.#faults);
    this.#plans.set(model.id, plan);
    return plan;
  }

  status(): ModelStatus[] {
    return this.#catalog.models.map((model) => {
      const plan = this.#plans.get(model.id);
      const variants = this.#candidates(model.id) ?? model.variants;
      const loadedModels = variants.flatMap(({ name }) => this.#loadedModels.get(name) ?? []);
      return modelStatus(model, plan, loadedModels, this.#options.variantDetails);
    });
  }

  #model(id: string, kind?: Kind): CatalogModel {
    const model = this.#catalog.models.find((candidate) => candidate.id === id);
    if (model && (!kind || answers(model.kind, kind))) return model;
    const message = `There is no ${kind ? `${kind} ` : ''}model ${id} here. GET /v1/models lists what there is.`;
    throw requestError(400, message, 'model_not_found', 'model');
  }

  #allowed(
    { kind, variants }: CatalogModel,
    { variants: names }: VariantFilter,
    candidates = variants,
  ): LoadedModel[] {
    return candidates.flatMap((variant) =>
      names && !names.includes(variant.name) ? [] : this.#loadedModelOf(variant, kind),
    );
  }

  #loadedModelOf(variant: Variant, kind: CatalogModel['kind']): LoadedModel {
    const known = this.#loadedModels.get(variant.name);
    if (known) return known;
    const { load, onChange } = this.#options;
    const admitted: LoadVariant = (each, options) =>
      this.#memory.admit(each, options.signal, () => load(each, options));
    const loadedModel = new LoadedModel(variant, kind, admitted, onChange);
    this.#loadedModels.set(variant.name, loadedModel);
    return loadedModel;
  }
}
