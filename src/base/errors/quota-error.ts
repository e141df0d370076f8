/**
 * Detects a full storage. Browsers throw it on opening, writing, growing, flushing and closing a file, in
 * `Cache.put()`, and in IndexedDB. Firefox's files and caches throw an object that is no Error.
 */
export const isQuotaError = (error: unknown): boolean =>
  /^(QuotaExceededError|NS_ERROR_FILE_NO_DEVICE_SPACE)$/.test(String((error as Error | null)?.name));
