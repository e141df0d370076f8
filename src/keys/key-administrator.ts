import { checkNames } from '#base';
import {
  dropCopies,
  withDatabase,
  withTransaction,
  DEFAULT_LIMITS,
  type KeyLimits,
  type KeyRecord,
} from '#database';
import { createKey, hashKey, fullBucket, isWhole } from './key-store.ts';

export interface IssueOptions {
  /** Name of the application that the key is for. */
  label: string;
  /** Milliseconds since 1970. Absent: no expiry. */
  expiresAt?: number;
  /** Model ids that the key may use. Absent: all. */
  models?: string[];
  /** Keeps its requests in the browser: no upstream server answers them. */
  deviceOnly?: boolean;
  limits?: Partial<KeyLimits>;
}

export interface IssuedKey {
  /** Id of its record, for `rotate` and `revoke`. */
  id: string;
  /** API key as a client sends it. */
  key: string;
}

type Rule = readonly [fits: (value: unknown) => boolean, rule: string];

const orAbsent = (fits: (value: unknown) => boolean) => (value: unknown) => value == null || fits(value);
const isText = (value: unknown): value is string => typeof value === 'string';

const RULES: Record<keyof IssueOptions, Rule> = {
  label: [(value) => isText(value) && value.trim() !== '', 'must name the application that the key is for'],
  expiresAt: [
    orAbsent((value) => Number.isFinite(value) && Number(value) > Date.now()),
    'must be a time in the future, in milliseconds since 1970',
  ],
  models: [
    orAbsent((value) => Array.isArray(value) && value.every(isText)),
    'must be an array of model ids; leave it out to allow all models',
  ],
  deviceOnly: [orAbsent((value) => typeof value === 'boolean'), 'must be true or false'],
  limits: [orAbsent((value) => typeof value === 'object'), 'must be an object'],
};

const limitRule: Rule = [(value) => Number.isFinite(value) && Number(value) >= 1, 'must be a number from 1'];
const LIMIT_RULES = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, limitRule]));

/** @throws TypeError naming the field */
function check(fields: object, rules: Readonly<Record<string, Rule>>, path = ''): void {
  checkNames(fields, Object.keys(rules), path);
  for (const [name, value] of Object.entries(fields)) {
    const [fits, rule] = rules[name] ?? [];
    if (fits?.(value) === false) throw new TypeError(`\`${path}${name}\` ${rule}.`);
  }
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
  deviceOnly: boolean;
  limits: KeyLimits;
}

/** How long a replaced key stays valid by default: time to give the new one to the application. */
const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000;

/**
 * The administrator's side of the keys. Script of the same origin can reach the same store: keys distinguish
 * applications and meter them. They are not a security boundary.
 */
export class KeyAdministrator {
  readonly #scope: string;
  readonly #locks: LockManager;

  constructor(scope: string, locks: LockManager) {
    this.#scope = scope;
    this.#locks = locks;
  }

  /** Issues a key, which is shown only once: the store keeps its hash. */
  async issue(options: IssueOptions): Promise<IssuedKey> {
    const { key, record } = await this.#create(options);
    await withDatabase(this.#scope, (database) => database.add('keys', record));
    return { id: record.id, key };
  }

  /**
   * Returns the key that the page keeps under this label: the same after a reload and in every tab. Issues it
   * if there is none, or if the previous one was revoked or has expired. Updates `models`, `deviceOnly` and
   * `limits`.
   *
   * The key itself is stored, not only its hash: every script of the origin can read it.
   */
  async ensure(options: IssueOptions): Promise<IssuedKey> {
    const { key, record } = await this.#create(options);
    // One transaction, so that two tabs that load together get one key.
    let isChanged = false;
    const issued = await withTransaction(this.#scope, 'keys', 'default', async (store) => {
      const records = await store.getAll();
      const kept = records.find(
        (each) => each.label === record.label && each.key && stateOf(each) === 'active' && isWhole(each),
      );
      const { models, deviceOnly, limits } = record;
      if (!kept?.key) await store.add({ ...record, key });
      else if (
        JSON.stringify([kept.models, kept.deviceOnly, kept.limits]) !==
        JSON.stringify([models, deviceOnly, limits])
      ) {
        isChanged = true;
        await store.put({ ...kept, models, deviceOnly, limits });
      }
      return kept?.key ? { id: kept.id, key: kept.key } : { id: record.id, key };
    });
    if (isChanged) await dropCopies(this.#scope, this.#locks);
    return issued;
  }

  /** Every key ever issued, the oldest first. */
  async list(): Promise<KeyInfo[]> {
    const records = await withDatabase(this.#scope, (database) => database.getAll('keys'));
    return records.toSorted((a, b) => a.created - b.created).map(toInfo);
  }

  /** Replaces the key of a record. The previous key stays valid for `graceMs` (default: one day). */
  async rotate(id: string, { graceMs = DEFAULT_GRACE_MS } = {}): Promise<IssuedKey> {
    if (!Number.isFinite(graceMs) || graceMs < 0) throw new RangeError('`graceMs` must be 0 or more.');
    const key = await createKey();
    const hash = await hashKey(key);
    await this.#change(id, (record) => {
      if (record.revokedAt !== null) throw new Error(`The key ${id} has been revoked. Issue a new one.`);
      const end = Date.now() + graceMs;
      const before = record.secrets.map((secret) => ({
        ...secret,
        validUntil: Math.min(secret.validUntil ?? Infinity, end),
      }));
      const secrets = [{ hash, validUntil: null }, ...before];
      const hashes = secrets.map((secret) => secret.hash);
      return { ...record, secrets, hashes, ...(record.key && { key }) };
    });
    return { id, key };
  }

  /** Revokes the key and its predecessors: the next request with one fails, in every tab. */
  async revoke(id: string): Promise<void> {
    await this.#change(id, ({ key: _dropped, ...record }) => ({
      ...record,
      revokedAt: record.revokedAt ?? Date.now(),
    }));
  }

  /** A new key and its record, not yet stored. */
  async #create(options: IssueOptions): Promise<{ key: string; record: KeyRecord }> {
    check(Object.assign({ label: '' }, options), RULES);
    const { label, expiresAt = null, models = null, deviceOnly = false } = options;
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    check(limits, LIMIT_RULES, 'limits.');
    const key = await createKey();
    const hash = await hashKey(key);
    const created = Date.now();
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
      deviceOnly,
      limits,
      requests: fullBucket(limits.requestsPerMinute),
      tokens: fullBucket(limits.tokensPerMinute),
    };
    return { key, record };
  }

  async #change(id: string, change: (record: KeyRecord) => KeyRecord): Promise<void> {
    await withTransaction(this.#scope, 'keys', 'default', async (store) => {
      const record = await store.get(id);
      if (!record) throw new Error(`There is no key with the id ${id}. list() returns the existing keys.`);
      await store.put(change(record));
    });
    await dropCopies(this.#scope, this.#locks);
  }
}

function stateOf({ expiresAt, revokedAt }: KeyRecord): KeyInfo['state'] {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && !(expiresAt > Date.now()) ? 'expired' : 'active';
}

function toInfo(record: KeyRecord): KeyInfo {
  const { id, label, created, lastUsed, expiresAt, models, deviceOnly, limits } = record;
  return { id, label, state: stateOf(record), created, lastUsed, expiresAt, models, deviceOnly, limits };
}
