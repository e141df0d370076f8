/// <reference types="vite/types/importMeta.d.ts" />

import type { Engines } from '#engine-kit';

const plugins = import.meta.glob<Engines[string]>('./*/plugin.ts', { eager: true, import: 'plugin' });

/** The engines of this package, by name. An engine's code is imported when its first variant loads. */
export const ENGINES: Engines = Object.fromEntries(
  Object.values(plugins).map((plugin) => [plugin.engine, plugin]),
);
