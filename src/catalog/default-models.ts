import type { Catalog } from './catalog.ts';

/** Date these ids were mapped to their current weights: 21 November 2026. */
const created = 1795219200;

/** Models of the default catalog without their variants, which suffice to list them at a fraction of the size. */
export const defaultModels: Catalog = {
  ownedBy: 'localtext',
  models: [
    { id: 'crimson-falcon-4', kind: 'chat', created, variants: [] },
    { id: 'indigo-owl-4', kind: 'chat', created, variants: [] },
    { id: 'amber-phoenix-4', kind: 'chat', created, variants: [] },
    { id: 'jade-mole-4', kind: 'embedding', created, variants: [] },
  ],
};
