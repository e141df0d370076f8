import { hasWeights, type Variant } from '#catalog';
import { engineFileName, type Engine, type Engines } from '#engine-kit';
import type { PageServices } from '#protocol';
import { withTimeout } from '#base';
import { endedTab } from './load-failed.ts';
import type { LoadVariant } from './loaded-model.ts';

/** Time limit for the page's answer, in milliseconds, as a blocked page must not delay a load. */
const PAGE_MS = 1000;

/** Identifies a load in the page's records. The id changes with the weights and with the version of any engine. */
export const loadId = ({ name, files }: Pick<Variant, 'name' | 'files'>, engines: Engines): string => {
  const engineFiles = Object.values(engines).flatMap(({ wasm = [] }) => wasm);
  const hashes = files.map(({ sha256 }) => sha256.slice(0, 8));
  return [name, ...hashes, ...engineFiles.map(engineFileName)].join(' ');
};

/**
 * Reports running loads, and the first jobs after a load, to the page, which records them. A page that runs out of
 * memory ends without notice: the next one reads in the record what it was doing.
 */
export class CrashGuard {
  readonly #engines: Engines;
  readonly #loads: PageServices['loads'];
  readonly #underWay = new Set<string>();
  /** Loaded variants that have not generated a token yet. */
  readonly #untried = new Set<Variant>();

  constructor(engines: Engines, loads: PageServices['loads']) {
    this.#engines = engines;
    this.#loads = loads;
  }

  /** Resolves to the `loadId` of each variant that ended a tab. */
  fatal(): Promise<readonly string[]> {
    return this.#ask(this.#loads.fatal(), []);
  }

  /**
   * Wraps a load so that it is recorded once its download is over: a download uses little memory.
   * @throws ServiceError `model_load_failed` if the variant ended a tab before
   */
  recorded(load: LoadVariant): LoadVariant {
    return async (variant, options): Promise<Engine> => {
      const id = loadId(variant, this.#engines);
      // The planner skips such a variant only if another can run.
      if ((await this.fatal()).includes(id)) {
        await this.#ask(this.#loads.refused(id), undefined);
        throw endedTab(variant);
      }
      let ended = false;
      try {
        const engine = await load(variant, {
          ...options,
          onProgress: (progress) => {
            if (progress.phase !== 'download' && !ended) this.#note(variant, hasWeights(variant));
            options.onProgress(progress);
          },
        });
        if (hasWeights(variant)) this.#untried.add(variant);
        return engine;
      } finally {
        ended = true;
        // A tab that ends while the model is idle does not end because of it.
        this.#note(variant, false);
      }
    };
  }

  /** Records that a variant begins a job, sends the first part of an answer, or becomes idle. */
  onJob(variant: Variant, step: 'begun' | 'answering' | 'idle'): void {
    if (!this.#untried.has(variant)) return;
    if (step === 'answering') this.#untried.delete(variant);
    this.#note(variant, step === 'begun');
  }

  #note(variant: Variant, isUnderWay: boolean): void {
    const id = loadId(variant, this.#engines);
    if (this.#underWay.has(id) === isUnderWay) return;
    if (isUnderWay) this.#underWay.add(id);
    else this.#underWay.delete(id);
    void this.#ask(this.#loads.begun([...this.#underWay]), undefined);
  }

  async #ask<T>(answer: Promise<T>, otherwise: T): Promise<T> {
    const known = answer.catch(() => otherwise);
    return (await withTimeout(known, PAGE_MS)) ?? otherwise;
  }
}
