import { CacheManager } from '@wllama/wllama';

/** Cache for wllama that stores nothing: the weight store does. wllama's own cache fails to start in some browsers. */
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
