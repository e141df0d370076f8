import { CacheManager } from '@wllama/wllama';

/** The weight store is the only one; wllama's own finds no storage in some browsers and would not start. */
export function noCache(): CacheManager {
  return new CacheManager([
    {
      isSupported: () => true,
      read: async () => null,
      write: async () => undefined,
      getSize: async () => -1,
      list: async () => [],
      delete: async () => undefined,
    },
  ]);
}
