import { withDatabase } from '../storage/database.ts';
import { createKey, hashKey } from './key-format.ts';
import { DEFAULT_LIMITS, type KeyLimits, type KeyRecord } from './key-record.ts';
import { fullBucket } from './token-bucket.ts';

export interface IssueOptions {
  /** Which application it is for. */
  label: string;
  /** Milliseconds since 1970; none: it never expires. */
  expiresAt?: number;
  /** Ids that it may use; none: all. */
  models?: string[];
  limits?: Partial<KeyLimits>;
}

/** A key as a list shows it: never the key itself. Times in milliseconds since 1970. */
export interface KeyInfo {
  id: string;
  label: string;
  state: 'active' | 'expired' | 'revoked';
  created: number;
  lastUsed: number | null;
  expiresAt: number | null;
  models: string[] | null;
  limits: KeyLimits;
}

/** How long a replaced key stays good when nothing else is asked for: time to bring the new one to the application. */
const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000;

/**
 * The administrator's side of the keys. Script of the same origin can reach the same store: keys tell applications
 * apart and meter them; they are no wall against the page itself.
 */
export class KeyAdministrator {
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The key is shown this once; only its hash is kept. */
  async issue(options: IssueOptions): Promise<{ id: string; key: string }> {
    const { label, expiresAt = null, models = null } = options;
    const limits = checkLimits({ ...DEFAULT_LIMITS, ...options.limits });
    if (typeof label !== 'string' || label.trim() === '') {
      throw new TypeError('`label` must name the application that the key is for.');
    }
    const key = await createKey();
    const hash = await hashKey(key);
    const created = this.#now();
    const record: KeyRecord = {
      id: `key_${crypto.randomUUID()}`,
      label,
      hashes: [hash],
      secrets: [{ hash, validUntil: null }],
      created,
      lastUsed: null,
      expiresAt,
      revokedAt: null,
      models,
      limits,
      requests: fullBucket(limits.requestsPerMinute, created),
      tokens: fullBucket(limits.tokensPerMinute, created),
    };
    await withDatabase((database) => database.add('keys', record));
    return { id: record.id, key };
  }

  /** Every key ever issued, the oldest first. */
  async list(): Promise<KeyInfo[]> {
    const records = await withDatabase((database) => database.getAll('keys'));
    const now = this.#now();
    return records.toSorted((a, b) => a.created - b.created).map((record) => toInfo(record, now));
  }

  /** A new key for the same record; the one before it stays good for `graceMs` (a day when not given). */
  async rotate(id: string, { graceMs = DEFAULT_GRACE_MS } = {}): Promise<{ id: string; key: string }> {
    if (!Number.isFinite(graceMs) || graceMs < 0) throw new RangeError('`graceMs` must be 0 or more.');
    const key = await createKey();
    const hash = await hashKey(key);
    const now = this.#now();
    await this.#change(id, (record) => {
      if (record.revokedAt !== null) throw new Error(`The key ${id} has been revoked. Issue a new one.`);
      const before = record.secrets.map((secret) => ({
        ...secret,
        validUntil: Math.min(secret.validUntil ?? Infinity, now + graceMs),
      }));
      const secrets = [{ hash, validUntil: null }, ...before];
      return { ...record, secrets, hashes: secrets.map((secret) => secret.hash) };
    });
    return { id, key };
  }

  /** From the next request on, in every tab, the key and those that it replaced are refused. */
  async revoke(id: string): Promise<void> {
    const now = this.#now();
    await this.#change(id, (record) => ({ ...record, revokedAt: record.revokedAt ?? now }));
  }

  async #change(id: string, change: (record: KeyRecord) => KeyRecord): Promise<void> {
    await withDatabase(async (database) => {
      const transaction = database.transaction('keys', 'readwrite');
      const record = await transaction.store.get(id);
      if (!record) throw new Error(`There is no key with the id ${id}. list() shows those that there are.`);
      void transaction.store.put(change(record));
      await transaction.done;
    });
  }
}

function checkLimits(limits: KeyLimits): KeyLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isFinite(value) || value <= 0)
      throw new RangeError(`\`limits.${name}\` must be more than 0.`);
  }
  return limits;
}

function toInfo(record: KeyRecord, now: number): KeyInfo {
  const { id, label, created, lastUsed, expiresAt, models, limits } = record;
  const expired = expiresAt !== null && expiresAt <= now;
  const state = record.revokedAt !== null ? 'revoked' : expired ? 'expired' : 'active';
  return { id, label, state, created, lastUsed, expiresAt, models, limits };
}
