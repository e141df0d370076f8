import type { Catalog } from './catalog.ts';

/** The catalog as the device sees it: requests go to servers past its engine. */
export const withoutServers = (catalog: Catalog): Catalog => ({
  ...catalog,
  models: catalog.models.map((model) => ({
    ...model,
    variants: model.variants.filter(({ engine }) => engine !== 'upstream'),
  })),
});
