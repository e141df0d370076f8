import { computed } from '@preact/signals';
import { defaultCatalog, speech, vision, voices } from '../../src/catalog.ts';
import type { CatalogModel, Variant } from '../../src/catalog.ts';
import type { ModelStatus } from '../../src/index.ts';
import { modelStatuses } from './localtext.ts';
import { completionModels, modelIds } from './models.ts';

const MODELS = [defaultCatalog, voices, speech, vision].flatMap(({ models }) => models ?? []);

/** The entry of an id in the catalogs that this page uses: the default one, and what it adds. */
export const catalogModel = (id: string): CatalogModel | undefined => MODELS.find((model) => model.id === id);

export const statusOf = (id: string): ModelStatus | undefined =>
  modelStatuses.value.find((model) => model.id === id);

/** Bytes of all files; an estimate if only the model hub knows the size. */
export const weightBytes = ({ files, hub }: Variant): number =>
  files.reduce((sum, file) => sum + file.bytes, hub?.approximateBytes ?? 0);

/** The variant that answers, else the one chosen for this device; undefined until the engine has chosen. */
export function chosenVariant(id: string): Variant | undefined {
  const variants = catalogModel(id)?.variants ?? [];
  const status = statusOf(id);
  const chosen = status?.reasons?.find((reason) => reason.chosen)?.variant;
  return (
    variants.find(({ name }) => status?.fingerprint?.startsWith(name)) ??
    variants.find(({ name }) => name === chosen)
  );
}

/** The variant whose files the catalog pins, which every device runs: the choice, in most cases, if the hub is not asked. */
export const pinnedVariant = (id: string): Variant | undefined =>
  catalogModel(id)?.variants.find(({ files, optIn }) => files.length > 0 && !optIn);

/** Bytes that a load would still download; undefined until the engine has checked, and for a model on a server. */
export function missingBytes(id: string): number | undefined {
  const { reasons, estimates } = statusOf(id) ?? {};
  return estimates?.[reasons?.find(({ chosen }) => chosen)?.variant ?? '']?.downloadBytes;
}

/** Ids of chat models, from GET /v1/models once it has answered. */
export const chatModels = computed(() => {
  const known = defaultCatalog.models.map(({ id }) => id);
  const ids = modelIds.value.length > 0 ? modelIds.value : known;
  return ids.filter(
    (id) => (catalogModel(id)?.kind ?? 'chat') === 'chat' && !completionModels.value.includes(id),
  );
});

/** Whether there are models outside the default catalog, whose capabilities only GET /v1/models has. */
export const hasMoreModels = computed(() =>
  modelStatuses.value.some(
    ({ id, kind }) => kind === 'chat' && !defaultCatalog.models.some((model) => model.id === id),
  ),
);

/** Size of the largest weights that the model hub may supply for an id; 0 if none. */
export const hubBytes = (id: string): number =>
  Math.max(0, ...(catalogModel(id)?.variants ?? []).filter(({ hub }) => hub).map(weightBytes));

/** Other ids with the same files; they need no separate download. */
export function idsWithTheSameWeights(id: string): string[] {
  const name = chosenVariant(id)?.name;
  if (name === undefined) return [];
  return defaultCatalog.models
    .filter((model) => model.id !== id && chosenVariant(model.id)?.name === name)
    .map((model) => model.id);
}
