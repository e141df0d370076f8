import type { Catalog, CatalogModel, Variant } from '../catalog/catalog.ts';
import type { LoadProgress, ModelStatus } from '../protocol/control.ts';
import { abortable } from './abort.ts';
import type { ChatEngine, EmbeddingEngine } from './engine.ts';
import { EngineError, badRequest, toWireError } from './engine-error.ts';
import { Resident } from './resident.ts';

export type Engine = ChatEngine | EmbeddingEngine;

export interface LoadVariantOptions {
  signal: AbortSignal;
  onProgress(phase: 'download' | 'load', loadedBytes: number, totalBytes: number): void;
}

export type LoadVariant = (variant: Variant, options: LoadVariantOptions) => Promise<Engine>;

type OnProgress = (progress: LoadProgress) => void;

/** Which models are in memory. Ids that stand on the same weights share one engine and one queue. */
export class Residency {
  readonly #catalog: Catalog;
  readonly #load: LoadVariant;
  readonly #onChange: () => void;
  readonly #residents = new Map<string, Resident>();

  constructor(catalog: Catalog, load: LoadVariant, onChange: () => void) {
    this.#catalog = catalog;
    this.#load = load;
    this.#onChange = onChange;
  }

  /** The resident that answers for this id: the first variant that has not failed for good. */
  resident(id: string, kind?: CatalogModel['kind']): Resident {
    const model = this.#model(id, kind);
    const residents = model.variants.map((variant) => this.#residentOf(variant, model.kind));
    const resident = residents.find(({ state }) => state !== 'failed') ?? residents[0];
    if (!resident)
      throw new EngineError({ code: 'model_unavailable', message: `No weights stand behind ${id}.` });
    return resident;
  }

  /**
   * Loads the model unless it is in memory, going through its variants in order.
   * @throws the last variant's error, when none could be loaded
   */
  async ready(id: string, signal: AbortSignal, onProgress?: OnProgress): Promise<Resident> {
    const model = this.#model(id);
    let failure: unknown = new EngineError({
      code: 'model_unavailable',
      message: `No weights stand behind ${id}: the catalog names no variant.`,
    });
    for (const variant of model.variants) {
      const resident = this.#residentOf(variant, model.kind);
      try {
        await abortable(
          resident.load(signal, (progress) => onProgress?.({ model: id, ...progress })),
          signal,
        );
        return resident;
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }

  status(): ModelStatus[] {
    return this.#catalog.models.map((model) => {
      const { id, kind } = model;
      const residents = model.variants.flatMap((variant) => this.#residents.get(variant.name) ?? []);
      const shown = residents.find(({ state }) => state !== 'failed') ?? residents.at(-1);
      return {
        id,
        kind,
        state: shown?.state ?? 'idle',
        fingerprint: shown?.engine?.fingerprint ?? null,
        progress: shown?.progress ? { model: id, ...shown.progress } : null,
        queued: shown?.queue.queued ?? 0,
        running: shown?.queue.running ?? 0,
        error: shown?.error ? toWireError(shown.error).message : null,
      };
    });
  }

  #model(id: string, kind?: CatalogModel['kind']): CatalogModel {
    const model = this.#catalog.models.find((candidate) => candidate.id === id);
    if (!model || (kind && model.kind !== kind)) {
      throw badRequest(`There is no ${kind ?? ''} model ${id} here.`, 'model', 'model_not_found');
    }
    return model;
  }

  #residentOf(variant: Variant, kind: CatalogModel['kind']): Resident {
    const known = this.#residents.get(variant.name);
    if (known) return known;
    const resident = new Resident(variant, kind, this.#load, this.#onChange);
    this.#residents.set(variant.name, resident);
    return resident;
  }
}
