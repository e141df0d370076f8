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

export type CrashGuard = ReturnType<typeof crashGuard>;

/**
 * Reports running loads, and the first jobs after a load, to the page, which records them. A page that runs out of
 * memory ends without notice: the next one reads in the record what it was doing.
 */
export function crashGuard(engines: Engines, loads: PageServices['loads']) {
  const underWay = new Set<string>();
  /** Loaded variants that have not generated a token yet. Others need no `onJob()`. */
  const untried = new Set<Variant>();

  function note(variant: Variant, isUnderWay: boolean): void {
    const id = loadId(variant, engines);
    if (underWay.has(id) === isUnderWay) return;
    if (isUnderWay) underWay.add(id);
    else underWay.delete(id);
    void inTime(loads.begun([...underWay]), undefined);
  }

  /** Resolves to the `loadId` of each variant that ended a tab. */
  const fatal = (): Promise<readonly string[]> => inTime(loads.fatal(), []);

  return {
    untried,
    fatal,

    /**
     * Wraps a load so that it is recorded once its download is over: a download uses little memory.
     * @throws ServiceError `model_load_failed` if the variant ended a tab before
     */
    recorded(load: LoadVariant): LoadVariant {
      return async (variant, options): Promise<Engine> => {
        const id = loadId(variant, engines);
        // The planner skips such a variant only if another can run.
        if ((await fatal()).includes(id)) {
          await inTime(loads.refused(id), undefined);
          throw endedTab(variant);
        }
        let ended = false;
        try {
          const engine = await load(variant, {
            ...options,
            onProgress: (progress) => {
              if (progress.phase !== 'download' && !ended) note(variant, hasWeights(variant));
              options.onProgress(progress);
            },
          });
          if (hasWeights(variant)) untried.add(variant);
          return engine;
        } finally {
          ended = true;
          // A tab that ends while the model is idle does not end because of it.
          note(variant, false);
        }
      };
    },

    /** Records that a variant begins a job, sends the first part of an answer, or becomes idle. */
    onJob(variant: Variant, step: 'begun' | 'answering' | 'idle'): void {
      if (!untried.has(variant)) return;
      if (step === 'answering') untried.delete(variant);
      note(variant, step === 'begun');
    },
  };
}

/** The page's answer; `otherwise` if it fails or comes late. */
const inTime = async <T>(answer: Promise<T>, otherwise: T): Promise<T> =>
  (await withTimeout(answer, PAGE_MS).catch(() => null)) ?? otherwise;
