/** Beginning of the default catalog's SHA-256, as JSON: tabs of two builds compare it without loading the catalog. */
export const DEFAULT_CATALOG_HASH = '4abbb6a862b139a7';
