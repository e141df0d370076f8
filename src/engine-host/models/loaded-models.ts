import type { LoadedModel } from './loaded-model.ts';

/** The models in memory and those on their way there, by the name of their variant. */
export class LoadedModels extends Map<string, LoadedModel> {
  /** Whether any request runs, or any model is being loaded. */
  get isBusy(): boolean {
    return [...this.values()].some(
      ({ state, queue }) => state === 'loading' || queue.running + queue.queued > 0,
    );
  }

  /** Whether a variant is in memory, or on its way there. */
  inUse(variant: string): boolean {
    const state = this.get(variant)?.state;
    return state === 'ready' || state === 'loading';
  }

  /** Takes a variant out of memory, unless it is being loaded or answers requests: then false. */
  async release(variant: string): Promise<boolean> {
    const loadedModel = this.get(variant);
    if (!loadedModel || loadedModel.state === 'idle' || loadedModel.state === 'failed') return true;
    const { engine, queue } = loadedModel;
    if (!engine || queue.running + queue.queued > 0) return false;
    await loadedModel.drop(engine);
    return true;
  }

  /** Reloads a variant, unless requests use it. */
  async reload(variant: string): Promise<void> {
    const loadedModel = this.get(variant);
    if (!loadedModel?.engine || !(await this.release(variant))) return;
    await loadedModel.load(new AbortController().signal, () => undefined);
  }
}
