import { withDatabase, withTransaction, type BucketState, type KeyRecord } from '#database';
import {
  holdLock,
  inFlightLock,
  type Admission,
  type Admitted,
  type KeyStore,
  type LimitState,
  type Reservation,
} from '#protocol';

/** Minimum interval of `lastUsed` updates by calls that count against no limit: it is their only write. */
const LAST_USED_STALE_MS = 60_000;

/** Keys for the service. They are read at each request: a revoked key fails on the next one, in every tab. */
export function createKeyStore(scope: string, locks: LockManager): KeyStore {
  return {
    async admit(token, isMetered) {
      const hash = await hashKey(token);
      const result = await (isMetered ? admitMetered : admitUnmetered)(scope, hash);
      if (result.admitted || result.reason !== 'unknown') return result;
      // Known keys need no checksum: it only distinguishes a typo from a key that was never issued.
      return (await isWholeKey(token)) ? result : refused('malformed');
    },
    enter: ({ keyId, inFlightLimit }, requestId) => enterInFlight(locks, keyId, requestId, inFlightLimit),
    reserve: (keyId, tokens) => reserve(scope, keyId, tokens),
    // NaN would be stored and disable the limit.
    settle: (keyId, taken, used) =>
      settle(scope, keyId, Number.isFinite(used) && used >= 0 ? used - taken : 0),
  };
}

type Reason = Exclude<Admission, Admitted>['reason'];

const refused = (reason: Reason): Admission => ({ admitted: false, reason });

/** Returns the record if it is valid; otherwise the reason why it is not. */
function valid(record: KeyRecord | undefined, hash: string): KeyRecord | Reason {
  if (!record) return 'unknown';
  if (record.revokedAt !== null) return 'revoked';
  const until = record.secrets.find((secret) => secret.hash === hash)?.validUntil;
  // NaN counts as expired.
  return Date.now() < Math.min(until ?? Infinity, record.expiresAt ?? Infinity) ? record : 'expired';
}

/** Lookup and limit in one transaction, so that concurrent requests never use the same token twice. */
async function admitMetered(scope: string, hash: string): Promise<Admission> {
  let refusal: Reason = 'unknown';
  let retryAfterMs = 0;
  const record = await count(
    scope,
    (store) => store.index('hashes').get(hash),
    (before) => {
      const checked = valid(before, hash);
      if (typeof checked === 'string') {
        refusal = checked;
        return null;
      }
      const { requestsPerMinute, tokensPerMinute } = before.limits;
      const requests = refill(before.requests, requestsPerMinute);
      const tokens = refill(before.tokens, tokensPerMinute);
      retryAfterMs = untilLevel(requests, 1, requestsPerMinute);
      if (retryAfterMs === 0) requests.level--;
      return { ...before, requests, tokens, lastUsed: Date.now() };
    },
  );
  if (!record) return refused(refusal);
  const exceeded = retryAfterMs > 0 ? { retryAfterMs } : null;
  return { ...admission(record), limits: limitsOf(record), exceeded };
}

function admitUnmetered(scope: string, hash: string): Promise<Admission> {
  return withDatabase(scope, async (database) => {
    const record = valid(await database.getFromIndex('keys', 'hashes', hash), hash);
    if (typeof record === 'string') return refused(record);
    if (record.lastUsed === null || Date.now() - record.lastUsed > LAST_USED_STALE_MS)
      await countKey(scope, record.id, (before) => ({ ...before, lastUsed: Date.now() }));
    return admission(record);
  });
}

async function reserve(scope: string, id: string, wanted: number): Promise<Reservation> {
  let retryAfterMs: number | null = null;
  let taken = 0;
  const record = await countKey(scope, id, (before) => {
    const { requestsPerMinute, tokensPerMinute } = before.limits;
    const requests = refill(before.requests, requestsPerMinute);
    const tokens = refill(before.tokens, tokensPerMinute);
    const waitMs = untilLevel(tokens, Math.min(wanted, tokensPerMinute), tokensPerMinute);
    if (waitMs > 0) {
      retryAfterMs = waitMs;
      requests.level = Math.min(requestsPerMinute, requests.level + 1);
    } else {
      // At most one minute's debt: the worker that reserved may be stopped before it settles.
      taken = Math.min(wanted, tokens.level + tokensPerMinute);
      tokens.level -= taken;
    }
    return { ...before, requests, tokens };
  });
  return { retryAfterMs, taken, limits: record && limitsOf(record) };
}

/**
 * Corrects the level. It falls below zero if a reply took more than was reserved: later requests wait longer.
 */
async function settle(scope: string, id: string, extra: number): Promise<void> {
  await countKey(scope, id, (record) => {
    const { tokensPerMinute } = record.limits;
    const tokens = refill(record.tokens, tokensPerMinute);
    return { ...record, tokens: { ...tokens, level: Math.min(tokensPerMinute, tokens.level - extra) } };
  });
}

interface KeyReader {
  get(id: string): Promise<KeyRecord | undefined>;
  index(name: 'hashes'): { get(hash: string): Promise<KeyRecord | undefined> };
}
type Change = (record: KeyRecord) => KeyRecord | null;

/** Levels by key that could not be stored because the storage is full. */
const unsaved = new Map<string, Pick<KeyRecord, 'requests' | 'tokens'>>();

/**
 * Changes a record's levels in one transaction. If the storage is full, the levels are kept in memory, and
 * requests continue.
 * @returns the changed record; null: there is none, or it is unchanged
 */
async function count(
  scope: string,
  find: (store: KeyReader) => Promise<KeyRecord | undefined>,
  change: Change,
): Promise<KeyRecord | null> {
  const changed = (record: KeyRecord | undefined): KeyRecord | null =>
    record ? change({ ...record, ...unsaved.get(record.id) }) : null;
  try {
    const saved = await withTransaction(scope, 'keys', 'relaxed', async (store) => {
      const record = changed(await find(store));
      if (record) await store.put(record);
      return record;
    });
    if (saved) unsaved.delete(saved.id);
    return saved;
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'QuotaExceededError') throw error;
    const stored = await withDatabase(scope, (database) => find(database.transaction('keys').store));
    const record = changed(stored);
    if (record) unsaved.set(record.id, { requests: record.requests, tokens: record.tokens });
    return record;
  }
}

const countKey = (scope: string, id: string, change: Change): Promise<KeyRecord | null> =>
  count(scope, (store) => store.get(id), change);

function admission({ id, label, models, deviceOnly, limits }: KeyRecord): Admitted {
  return {
    admitted: true,
    keyId: id,
    label,
    models,
    deviceOnly,
    inFlightLimit: limits.inFlight,
    limits: null,
    exceeded: null,
  };
}

const limitsOf = ({ requests, tokens, limits }: KeyRecord): LimitState => ({
  requests: limitState(requests, limits.requestsPerMinute),
  tokens: limitState(tokens, limits.tokensPerMinute),
});

const limitState = (bucket: BucketState, perMinute: number): LimitState['requests'] => ({
  limit: perMinute,
  remaining: Math.max(0, Math.floor(bucket.level)),
  resetMs: untilLevel(bucket, perMinute, perMinute),
});

/**
 * Counts a key's running requests with Web Locks, one per request: the browser releases them with their
 * holder. A service worker that is killed leaves no count behind, and every tab and worker of the origin
 * counts the same.
 * @returns a function that ends the count; null: `limit` requests are running already
 */
export async function enterInFlight(
  locks: LockManager,
  keyId: string,
  requestId: string,
  limit: number,
): Promise<(() => void) | null> {
  const prefix = inFlightLock(keyId, '');
  const release = await holdLock(locks, inFlightLock(keyId, requestId));
  // Counted while held: two requests at once may both be refused, but they never exceed the limit together.
  const { held = [] } = await locks.query();
  if (held.filter((lock) => lock.name?.startsWith(prefix)).length <= limit) return release;
  release();
  return null;
}

const MINUTE = 60_000;
const ROUNDING_MS = 0.01;

export const fullBucket = (perMinute: number): BucketState => ({ level: perMinute, at: Date.now() });

/** The bucket now. A clock that was set back changes nothing; a record without a number counts as empty. */
function refill(state: BucketState, perMinute: number): BucketState {
  const now = Date.now();
  const added = (Math.max(0, now - state.at) * perMinute) / MINUTE;
  const level = Math.min(perMinute, state.level + added);
  return { level: Number.isFinite(level) ? level : 0, at: now };
}

/** Milliseconds until the level is at least `wanted`; 0 when it is, within rounding. */
function untilLevel(state: BucketState, wanted: number, perMinute: number): number {
  const ms = ((wanted - state.level) * MINUTE) / perMinute;
  return ms < ROUNDING_MS ? 0 : ms;
}

/**
 * A key: `lt_`, 256 random bits and a checksum of 24 bits, base64url: 3 + 43 + 4 characters. The checksum
 * detects typos.
 */
const SHAPE = /^lt_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{4})$/;

export async function createKey(): Promise<string> {
  const body = base64url(crypto.getRandomValues(new Uint8Array(32)));
  return `lt_${body}${await checksum(body)}`;
}

/** Whether shape and checksum are right. The key may still be unknown. */
async function isWholeKey(key: string): Promise<boolean> {
  const [, body, sum] = SHAPE.exec(key) ?? [];
  return body !== undefined && (await checksum(body)) === sum;
}

/**
 * Hash that is stored: SHA-256 of the whole key, base64url. 256 random bits need no salt and no slow hash.
 */
export async function hashKey(key: string): Promise<string> {
  return base64url(await sha256(key));
}

async function checksum(body: string): Promise<string> {
  // Differs from the text whose hash is stored, so that the checksum reveals nothing of that hash.
  const digest = await sha256(`localtext key checksum ${body}`);
  return base64url(digest.subarray(0, 3));
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
