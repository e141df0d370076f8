import { createHash } from 'node:crypto';

import type { CrossOriginStorageManager } from '../../src/util/cross-origin-storage.ts';

interface Entry {
  /** null: created, and not written yet. */
  bytes: Blob | null;
  storedBy: string;
  everyone: boolean;
}

type Request = NonNullable<CrossOriginStorageManager['requestFileHandle']>;

/** Cross-origin storage as its explainer describes it: one for all origins, each with a manager. */
export class FakeCrossOriginStorage {
  readonly entries = new Map<string, Entry>();
  /** What was asked for: `read <hash>`, `create <hash>`. */
  readonly asked: string[] = [];
  allowed = true;
  quotaBytes = Number.POSITIVE_INFINITY;

  managerOf(origin: string): CrossOriginStorageManager & { requestFileHandle: Request } {
    return {
      requestFileHandle: async ({ algorithm, value }, { create = false, origins } = {}) => {
        if (algorithm !== 'SHA-256' || !/^[0-9a-f]{64}$/.test(value)) throw new TypeError('malformed hash');
        this.asked.push(`${create ? 'create' : 'read'} ${value}`);
        if (!this.allowed) throw new DOMException('not allowed', 'NotAllowedError');
        return create ? this.#writeOnly(value, origin, origins === '*') : this.#readable(value, origin);
      },
    };
  }

  #readable(hash: string, origin: string) {
    const entry = this.entries.get(hash);
    if (entry && !entry.bytes) throw new DOMException('being written', 'NotAllowedError');
    if (!entry || !(entry.everyone || entry.storedBy === origin))
      throw new DOMException('not found', 'NotFoundError');
    return {
      getFile: async () => this.entries.get(hash)?.bytes ?? Promise.reject(gone()),
      createWritable: () => Promise.reject(new DOMException('read only', 'NotAllowedError')),
    };
  }

  #writeOnly(hash: string, storedBy: string, everyone: boolean) {
    if (!this.entries.has(hash)) this.entries.set(hash, { bytes: null, storedBy, everyone });
    return {
      getFile: () => Promise.reject(new DOMException('write only', 'NotAllowedError')),
      createWritable: async () => {
        const parts: Uint8Array<ArrayBuffer>[] = [];
        return new WritableStream<Uint8Array>({
          write: (part) => void parts.push(new Uint8Array(part)),
          close: async () => {
            const bytes = new Blob(parts);
            const digest = createHash('sha256')
              .update(await bytes.bytes())
              .digest('hex');
            if (digest === hash && bytes.size <= this.quotaBytes)
              return void this.entries.set(hash, { bytes, storedBy, everyone });
            if (!this.entries.get(hash)?.bytes) this.entries.delete(hash);
            throw new DOMException('', digest === hash ? 'QuotaExceededError' : 'DataError');
          },
        });
      },
    };
  }
}

const gone = (): DOMException => new DOMException('gone', 'NotFoundError');
