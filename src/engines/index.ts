/// <reference types="vite/types/importMeta.d.ts" />

import type { Engines } from '#engine-kit';

const plugins = import.meta.glob<Engines[string]>('./*/plugin.ts', { eager: true, import: 'plugin' });

/** The engines of this package, by folder. An engine's code is imported when its first variant loads. */
export const ENGINES: Engines = Object.fromEntries(
  Object.entries(plugins).map(([path, plugin]) => [path.split('/')[1], plugin]),
);
