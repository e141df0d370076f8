import { signal } from '@preact/signals';
import type { Model } from 'openai/resources/models';
import { vision } from '../../src/catalog.ts';
import { openai } from './openai.ts';
import { problemOf } from '../problem.ts';

/** A colour for each model, used for its replies, bars and dots. */
export type Hue = 'crimson' | 'indigo' | 'amber' | 'jade' | 'coral' | 'slate';
const HUES: readonly Hue[] = ['crimson', 'indigo', 'amber', 'jade', 'coral'];

export function hueOf(model: string): Hue {
  return HUES.find((hue) => model.startsWith(hue)) ?? 'slate';
}

/** Ids from GET /v1/models, in its order. */
export const modelIds = signal<string[]>([]);
/** Ids of models that accept pictures. */
export const seeingModels = signal<string[]>([]);
/** Ids of models that only continue text, with `/v1/completions`. */
export const completionModels = signal<string[]>([]);
export const modelsError = signal<string | null>(null);

/** Model with a field that the client's types lack. */
type ServiceModel = Model & { capabilities?: string[] };

export async function refreshModels(): Promise<void> {
  try {
    const client = await openai();
    const page = await client.models.list();
    modelIds.value = page.data.map((model) => model.id);
    const models = page.data as ServiceModel[];
    const idsWith = (capability: string): string[] =>
      models.filter(({ capabilities }) => capabilities?.includes(capability)).map(({ id }) => id);
    // The engine reports it a while after a model was added.
    const seeing = new Set([...idsWith('vision'), ...(vision.models ?? []).map(({ id }) => id)]);
    seeingModels.value = modelIds.value.filter((id) => seeing.has(id));
    completionModels.value = idsWith('completions');
    modelsError.value = null;
  } catch (error) {
    modelsError.value = problemOf(error);
  }
}

/** The smallest model, which loads fastest; selected at first. */
export const FIRST_CHAT_MODEL = 'amber-phoenix-4';
export const EMBEDDING_MODEL = 'jade-mole-4';
