import { signal } from '@preact/signals';
import type { StoredVariant } from '../../src/index.ts';
import { handle } from './localtext.ts';
import { problemOf } from '../problem.ts';

/** Variants with stored files in this browser; null until the engine reports them. */
export const storedWeights = signal<StoredVariant[] | null>(null);
export const storedWeightsError = signal<string | null>(null);

/** The message about the last change stays. */
export async function refreshStoredWeights(): Promise<void> {
  try {
    const { variants } = await (await handle).weights.list();
    storedWeights.value = variants.filter(({ storedBytes }) => storedBytes > 0);
  } catch (error) {
    storedWeightsError.value = problemOf(error);
  }
}

export async function deleteWeights(variant: string): Promise<void> {
  storedWeightsError.value = null;
  try {
    await (await handle).weights.delete(variant);
  } catch (error) {
    storedWeightsError.value = problemOf(error);
  }
  await refreshStoredWeights();
}

/**
 * Holds a model's download, or continues it; callers keep waiting.
 * @returns why that failed; null: it is done
 */
export async function holdDownload(model: string, held: boolean): Promise<string | null> {
  try {
    const { weights } = await handle;
    await (held ? weights.pause(model) : weights.resume(model));
    return null;
  } catch (error) {
    return problemOf(error);
  }
}
