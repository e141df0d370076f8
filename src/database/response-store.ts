import type { ResponseStore } from '../api/service-dependencies.ts';
import { withDatabase, type ResponseRecord } from './database.ts';

/** How long an answer is kept, as OpenAI's service keeps them. */
export const RESPONSE_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;
const BOUNDS = { responses: 1000, characters: 64_000_000 };

/** Answers of /v1/responses, in the browser's own database. */
export function createResponseStore(scope: string, now: () => number, bounds = BOUNDS): ResponseStore {
  return {
    async put(stored) {
      const record: ResponseRecord = { ...stored, characters: JSON.stringify(stored).length };
      await withDatabase(scope, (database) => database.put('responses', record));
      // The answer need not wait for it; what is left undone is done after the next one.
      void prune(scope, now(), bounds).catch(() => {});
    },
    async get(id) {
      const record = await withDatabase(scope, (database) => database.get('responses', id));
      return record && record.created + RESPONSE_LIFETIME_MS > now() ? record : null;
    },
    delete(id) {
      return withDatabase(scope, async (database) => {
        const transaction = database.transaction('responses', 'readwrite');
        const known = (await transaction.store.getKey(id)) !== undefined;
        void transaction.store.delete(id);
        await transaction.done;
        return known;
      });
    },
  };
}

/** Only keys are read: they tell age and size. */
async function prune(scope: string, now: number, bounds: typeof BOUNDS): Promise<void> {
  await withDatabase(scope, async (database) => {
    const transaction = database.transaction('responses', 'readwrite', { durability: 'relaxed' });
    const { store } = transaction;
    let count = 0;
    let characters = 0;
    let newestFirst = await store.index('age').openKeyCursor(null, 'prev');
    while (newestFirst) {
      const [created, size] = newestFirst.key;
      count++;
      characters += size;
      const tooMany = count > bounds.responses || characters > bounds.characters;
      if (tooMany || created + RESPONSE_LIFETIME_MS <= now) void store.delete(newestFirst.primaryKey);
      newestFirst = await newestFirst.continue();
    }
    await transaction.done;
  });
}
