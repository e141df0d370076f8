import { computed } from '@preact/signals';
import { defaultCatalog } from '../../catalog/default-catalog.ts';
import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import { modelStatuses } from './localtext.ts';
import { modelIds } from './models.ts';

/** The catalog's entry of an id; this page starts with the default catalog. */
export const catalogModel = (id: string): CatalogModel | undefined =>
  defaultCatalog.models.find((model) => model.id === id);

export const weightBytes = (variant: Variant): number =>
  variant.files.reduce((sum, file) => sum + file.bytes, 0);

/** The variant named by a fingerprint, else the first that is preferred. */
export function variantOf(id: string): Variant | undefined {
  const variants = catalogModel(id)?.variants ?? [];
  const fingerprint = modelStatuses.value.find((model) => model.id === id)?.fingerprint;
  return variants.find(({ name }) => fingerprint?.startsWith(name)) ?? variants[0];
}

/** Ids that chat: those of GET /v1/models once it has answered. */
export const chatModels = computed(() => {
  const known = defaultCatalog.models.map(({ id }) => id);
  const ids = modelIds.value.length > 0 ? modelIds.value : known;
  return ids.filter((id) => catalogModel(id)?.kind !== 'embedding');
});

/** Other ids that stand on the same files: they need no download of their own. */
export function idsWithTheSameWeights(id: string): string[] {
  const name = variantOf(id)?.name;
  return defaultCatalog.models
    .filter((model) => model.id !== id && model.variants.some((variant) => variant.name === name))
    .map((model) => model.id);
}
