/**
 * First digits of the SHA-256 of the default catalog's JSON. Tabs of different builds
 * compare it without loading the catalog.
 */
export const DEFAULT_CATALOG_HASH = '1989f754c612e5e4';
