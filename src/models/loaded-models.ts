import type { LoadedModel } from './loaded-model.ts';

/** Models that were requested, in any state, by the name of their variant. */
export class LoadedModels extends Map<string, LoadedModel> {
  /** Whether a variant has requests or is being loaded. */
  isBusy(variant: string): boolean {
    const loadedModel = this.get(variant);
    if (!loadedModel) return false;
    const { state, queue } = loadedModel;
    return state === 'loading' || queue.running + queue.queued > 0;
  }

  /** Whether a variant is loaded or being loaded. */
  inUse(variant: string): boolean {
    const state = this.get(variant)?.state;
    return state === 'ready' || state === 'loading';
  }

  /** Unloads a variant. @returns false if it is being loaded or has requests */
  async release(variant: string): Promise<boolean> {
    if (this.isBusy(variant)) return false;
    const loadedModel = this.get(variant);
    if (loadedModel?.engine) await loadedModel.drop(loadedModel.engine);
    return true;
  }

  /** Reloads a variant, unless it has requests. */
  async reload(variant: string): Promise<void> {
    const loadedModel = this.get(variant);
    if (!loadedModel?.engine || !(await this.release(variant))) return;
    await loadedModel.load(new AbortController().signal, () => undefined);
  }
}
