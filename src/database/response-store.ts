import { copyJson, Mutex, readJson, writeJson } from '#base';
import type { ResponseStore, StoredResponse } from '#protocol';
import { type ResponseRecord, withDatabase, withTransaction } from './database.ts';

/** Lifetime of a stored response, as in OpenAI's service. */
export const RESPONSE_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;
/** Limits of each key, so that one app cannot evict another's responses. */
const BOUNDS = { responses: 10_000, characters: 64_000_000 };
/**
 * Share of the bounds that new responses may take before the next pruning, which reads a key of each
 * response.
 */
const UNPRUNED_SHARE = 0.01;

/** Answers of /v1/responses, in the browser's own database. */
export function createResponseStore(scope: string, bounds = BOUNDS): ResponseStore {
  let unpruned = UNPRUNED_SHARE;
  // A response may have megabytes: many that are read at once would hold up all other requests.
  const reads = new Mutex();
  return {
    async put(stored) {
      const record = pack(stored);
      if (record.characters > bounds.characters) throw new Error('the answer is larger than the store');
      await withDatabase(scope, (database) => database.put('responses', record));
      unpruned += 1 / bounds.responses + record.characters / bounds.characters;
      if (unpruned < UNPRUNED_SHARE) return;
      unpruned = 0;
      // The answer does not wait for pruning. The next pruning deletes what a failed one leaves.
      void prune(scope, bounds).catch(() => {});
    },
    get: (id) =>
      reads.run(async () => {
        const record = await withDatabase(scope, (database) => database.get('responses', id));
        return record && record.created + RESPONSE_LIFETIME_MS > Date.now() ? unpack(record) : null;
      }),
    delete: (id) => withDatabase(scope, (database) => database.delete('responses', id)),
  };
}

/** Names of the fields that may have images, in a request's items and in messages. */
const isUrl = (name: string): boolean => name === 'url' || name === 'image_url';

/** Stores each URL once, outside the text: an image is both in the request and in the conversation. */
function pack(stored: StoredResponse): ResponseRecord {
  const { id, keyId, created } = stored;
  const urls = new Map<unknown, number>();
  const packed = copyJson(stored, (name, value) => {
    if (!isUrl(name) || (typeof value !== 'string' && typeof value !== 'number')) return value;
    const index = urls.get(value) ?? urls.size;
    urls.set(value, index);
    return index;
  });
  const content = writeJson(packed);
  const unique = [...urls.keys()];
  const characters = unique.reduce<number>((sum, url) => sum + String(url).length, content.length);
  return { id, keyId, created, content, urls: unique, characters };
}

const unpack = ({ content, urls }: ResponseRecord): StoredResponse =>
  copyJson(readJson(content), (name, value) =>
    isUrl(name) && typeof value === 'number' ? urls[value] : value,
  ) as StoredResponse;

/** Deletes responses beyond the bounds. Reads only the keys of the index, which have owner, age and size. */
function prune(scope: string, bounds: typeof BOUNDS): Promise<void> {
  const expired = Date.now() - RESPONSE_LIFETIME_MS;
  return withTransaction(scope, 'responses', 'relaxed', async (store) => {
    let owner = '';
    let count = 0;
    let characters = 0;
    let newestFirst = await store.index('owner').openKeyCursor(null, 'prev');
    while (newestFirst) {
      const [keyId, created, size] = newestFirst.key;
      if (keyId !== owner) [owner, count, characters] = [keyId, 0, 0];
      count++;
      characters += size;
      const tooMany = count > bounds.responses || characters > bounds.characters;
      if (tooMany || created <= expired) await store.delete(newestFirst.primaryKey);
      newestFirst = await newestFirst.continue();
    }
  });
}
