import { type Catalog, type CatalogModel, hasWeights, type Variant } from '../../catalog/catalog.ts';
import type { ModelStatus, OnProgress, Progress } from '../../protocol/worker-control.ts';
import { abortable } from '../../util/async.ts';
import { answers, type Job, type Kind } from '../../jobs/kinds.ts';
import type { Engine, Engines } from '../../engines/engine.ts';
import { toWireError } from '../../errors/engine-errors.ts';
import { requestError } from '../../errors/service-error.ts';
import { MemoryBudget } from './memory-budget.ts';
import type { ModelFacts } from '../../protocol/model-facts.ts';
import { modelFacts } from './engine-facts.ts';
import { modelStatus, noVariant, type VariantFacts } from './model-status.ts';
import { LoadedModel, type LoadVariant } from './loaded-model.ts';
import type { LoadedModels } from './loaded-models.ts';
import type { Plan, PlanVariants } from './variant-choice.ts';

/** An engine with such an error is of no more use; the next request reloads it, or the variant after it. */
const FATAL = new Set(['engine_crashed', 'device_lost', 'out_of_memory']);

/** Failures of a load that would be the same a second time. */
const PERMANENT_FAILURES = new Set(['out_of_memory', 'device_unsupported']);

/** Failures of a load after which no other variant is tried: the engine's files are gone, or the user gave the download up. */
const FINAL_LOAD_ERRORS = new Set(['build_replaced', 'download_cancelled']);

/** Least time between two loads of a variant that fails, in milliseconds. */
const AGAIN_MS = 1000;

/** Loads of a variant that ended in the loss of its GPU, before others are tried in its place. */
const MAX_LOSSES = 2;

/** Restricts which of a model's variants a request may use. */
type VariantFilter = Pick<Job, 'variants' | 'deviceOnly'>;

/** Reports that a variant begins a job, gives the first part of an answer, or has no job any more. */
export type OnJob = (variant: Variant, step: 'begun' | 'answering' | 'idle') => void;

export interface ModelManagerOptions {
  catalog: Catalog;
  engines: Engines;
  /** Filled by the manager. */
  loadedModels: LoadedModels;
  load: LoadVariant;
  onChange: () => void;
  plan: PlanVariants;
  /** Bytes that models may take in memory together. */
  budgetBytes: Promise<number>;
  variantFacts: VariantFacts;
  onDeviceLost: (variant: Variant) => void;
  /** A load is asked for that may have failed before. */
  onAgain: () => void;
  onJob: OnJob;
}

/** Loads models and keeps them in memory. Ids that share weights share one engine and one queue. */
export class ModelManager {
  readonly onJob: OnJob;
  readonly #options: ModelManagerOptions;
  #catalog: Catalog;
  readonly #loadedModels: LoadedModels;
  readonly #plans = new Map<string, Plan>();
  /** Failures by variant, for which it is given up after `MAX_LOSSES`. */
  readonly #losses = new Map<string, number>();
  readonly #faults = new Map<string, string>();
  readonly #memory: MemoryBudget;

  constructor(options: ModelManagerOptions) {
    this.#options = options;
    this.onJob = options.onJob;
    this.#catalog = options.catalog;
    this.#loadedModels = options.loadedModels;
    this.#memory = new MemoryBudget(options.budgetBytes, this.#loadedModels, options.engines);
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** The model that answers for this id: the first variant that has not failed for good. */
  loadedModel(id: string, kind?: Kind, limit: VariantFilter = {}): LoadedModel {
    const model = this.#model(id, kind);
    const plan = this.#plans.get(id);
    const loadedModels = this.#allowed(model, limit, plan?.candidates);
    const loadedModel = loadedModels.find(({ state }) => state !== 'failed') ?? loadedModels[0];
    if (!loadedModel) throw noVariant(id, plan?.reasons ?? [], limit.deviceOnly);
    return loadedModel;
  }

  /**
   * Loads the model unless it is in memory, going through its variants in order. `again`: the page or its user asks for the
   * load itself, so what failed is tried again.
   * @throws the last variant's error, when none could be loaded
   */
  async ready(
    id: string,
    signal: AbortSignal,
    { onProgress, again, ...limit }: { onProgress?: OnProgress; again?: boolean } & VariantFilter = {},
  ): Promise<LoadedModel> {
    const model = this.#model(id);
    if (again) this.#dropFailures(model);
    const plan = await abortable(this.#planned(model), signal);
    let failure: unknown = null;
    const candidates = this.#allowed(model, limit, plan.candidates);
    for (const [at, loadedModel] of candidates.entries()) {
      const later = candidates.slice(at + 1);
      if (loadedModel.state === 'failed' && later.some(({ state }) => state === 'ready')) continue;
      try {
        await this.#load(loadedModel, signal, (progress) => onProgress?.({ model: id, ...progress }));
        loadedModel.lastUsed = performance.now();
        // Includes the variants that failed before, so that the status shows them.
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
  ): Promise<void> {
    const load = () => abortable(loadedModel.load(signal, onProgress), signal);
    await load().catch(async (error: unknown) => {
      signal.throwIfAborted();
      // Unloading other models may free the memory that it lacks.
      const short = toWireError(error).code === 'out_of_memory';
      if (!short || !(await this.#memory.unloadIdle())) throw error;
      loadedModel.resetBackoff();
      await load();
    });
  }

  #dropFailures(model: CatalogModel): void {
    this.#options.onAgain();
    // The browser may offer its own model by now.
    if (this.#lacksExternal(model) || this.#endedTab(model)) this.#plans.delete(model.id);
    for (const { name } of model.variants) this.#loadedModels.get(name)?.resetBackoff(AGAIN_MS);
  }

  #endedTab({ id }: CatalogModel): boolean {
    return this.#plans.get(id)?.reasons.some(({ endedTab }) => endedTab) ?? false;
  }

  /** The model's variants after this one that the request may use, by their names. */
  after(id: string, { name }: Variant, limit: VariantFilter): string[] {
    const candidates = this.#allowed(this.#model(id), limit, this.#plans.get(id)?.candidates);
    const names = candidates.map(({ variant }) => variant.name);
    return names.slice(names.indexOf(name) + 1);
  }

  /** Whether a variant that the browser itself runs is not a candidate: it may be available by now. */
  #lacksExternal({ id, variants }: CatalogModel): boolean {
    const external = variants.find((variant) => !hasWeights(variant));
    return external !== undefined && !this.#plans.get(id)?.candidates.includes(external);
  }

  /** Records that this device cannot run a variant, so that it is not tried a second time. */
  #giveUp({ name }: Variant, error: unknown): void {
    const { code, message } = toWireError(error);
    if (code === null || !PERMANENT_FAILURES.has(code)) return;
    this.#faults.set(name, `could not be loaded: ${message}`);
    this.#plans.clear();
  }

  /** Models were added or removed; what is in memory of the others stays. */
  setCatalog(catalog: Catalog): void {
    this.#catalog = catalog;
    const variants = new Set(catalog.models.flatMap((model) => model.variants.map(({ name }) => name)));
    for (const id of this.#plans.keys())
      if (!catalog.models.some((model) => model.id === id)) this.#plans.delete(id);
    for (const name of this.#loadedModels.keys()) {
      if (variants.has(name)) continue;
      this.#loadedModels.delete(name);
      this.#faults.delete(name);
    }
  }

  /** Chooses a variant for every model before the first request, so that the status can show it. */
  async planAll(): Promise<void> {
    await Promise.all(this.#catalog.models.map((model) => this.#planned(model)));
    this.#options.onChange();
  }

  /** An engine has failed: with a fatal error it is dropped, and after two lost GPUs, or failures of the browser's own model, its variant is tried no more. */
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

  /** Name of the variant that answers for a model, or would; undefined: not chosen yet. */
  chosen(id: string): string | undefined {
    const candidates = this.#plans.get(id)?.candidates ?? [];
    const working = candidates.find(({ name }) => {
      const loadedModel = this.#loadedModels.get(name);
      return !loadedModel || loadedModel.state !== 'failed';
    });
    return (working ?? candidates[0])?.name;
  }

  /** Facts by id of the models that have a chosen variant. `exactBytes`: null where only the hub knows. */
  async facts(exactBytes: (variant: Variant) => Promise<number | null>): Promise<Record<string, ModelFacts>> {
    const facts: Record<string, ModelFacts> = {};
    for (const model of this.#catalog.models) {
      const chosen = this.chosen(model.id);
      const variant = model.variants.find(({ name }) => name === chosen);
      if (!variant) continue;
      const bytes = await exactBytes(variant);
      const loadedModel = this.#loadedModels.get(variant.name);
      facts[model.id] = modelFacts(model, variant, bytes, loadedModel, this.#options.engines);
    }
    return facts;
  }

  /** Plan of a model, kept until something fails: its variant should not change from one request to the next. */
  async #planned(model: CatalogModel): Promise<Plan> {
    const known = this.#plans.get(model.id);
    if (known) return known;
    const plan = await this.#options.plan(model, this.#faults);
    if (plan.candidates.length > 0) this.#plans.set(model.id, plan);
    return plan;
  }

  status(): ModelStatus[] {
    return this.#catalog.models.map((model) => {
      const plan = this.#plans.get(model.id);
      const variants = plan?.candidates ?? model.variants;
      const loadedModels = variants.flatMap(({ name }) => this.#loadedModels.get(name) ?? []);
      return modelStatus(model, plan, loadedModels, this.#options.variantFacts);
    });
  }

  #model(id: string, kind?: Kind): CatalogModel {
    const model = this.#catalog.models.find((candidate) => candidate.id === id);
    if (!model || (kind && !answers(model.kind, kind)))
      throw requestError(
        400,
        `There is no ${kind ? `${kind} ` : ''}model ${id} here.`,
        'model_not_found',
        'model',
      );
    return model;
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
