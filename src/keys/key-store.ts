import { withDatabase } from '../database/database.ts';
import type { Admission, Admitted, KeyStore, LimitState, Reservation } from '../api/service-dependencies.ts';
import { enterInFlight } from './in-flight.ts';
import { hashKey, isWholeKey } from './key-format.ts';
import type { BucketState, KeyRecord } from '../database/key-record.ts';
import { refill, untilLevel } from './token-bucket.ts';

/** Calls that count against no limit update `lastUsed` at most this often: it is their only write. */
const LAST_USED_STALE_MS = 60_000;

/** Keys for the service. They are read at each request: a revoked key fails on the next one, in every tab. */
export function createKeyStore(options: { scope: string; now: () => number; locks: LockManager }): KeyStore {
  const { scope, now, locks } = options;
  return {
    async admit(token, purpose) {
      const hash = await hashKey(token);
      const result = await (purpose === 'chat' ? admitChat : admitOther)(scope, hash, now());
      if (result.admitted || result.reason !== 'unknown') return result;
      // A key that is known is whole: the checksum only tells a typo from a key that was never issued.
      return (await isWholeKey(token)) ? result : refused('malformed');
    },
    enter: ({ keyId, inFlightLimit }, requestId) => enterInFlight(locks, keyId, requestId, inFlightLimit),
    reserve: (keyId, tokens) => reserve(scope, keyId, tokens, now()),
    // A count that is none would stay in the record, where it switches the limit off.
    settle: (keyId, reserved, used) =>
      settle(scope, keyId, Number.isFinite(used) && used >= 0 ? used - reserved : 0, now()),
  };
}

type Reason = Exclude<Admission, Admitted>['reason'];

const refused = (reason: Reason): Admission => ({ admitted: false, reason });

/** The record where it is valid; otherwise why it is not. */
function valid(record: KeyRecord | undefined, hash: string, now: number): KeyRecord | Reason {
  if (!record) return 'unknown';
  if (record.revokedAt !== null) return 'revoked';
  const until = record.secrets.find((secret) => secret.hash === hash)?.validUntil ?? null;
  const isExpired =
    (until !== null && until <= now) || (record.expiresAt !== null && record.expiresAt <= now);
  return isExpired ? 'expired' : record;
}

/** Lookup and limit in one transaction, so that concurrent requests never use the same token twice. */
function admitChat(scope: string, hash: string, now: number): Promise<Admission> {
  return withDatabase(scope, async (database) => {
    const transaction = database.transaction('keys', 'readwrite', { durability: 'relaxed' });
    const record = valid(await transaction.store.index('hashes').get(hash), hash, now);
    if (typeof record === 'string') {
      await transaction.done;
      return refused(record);
    }
    const { requestsPerMinute, tokensPerMinute } = record.limits;
    const requests = refill(record.requests, requestsPerMinute, now);
    const tokens = refill(record.tokens, tokensPerMinute, now);
    const retryAfterMs = untilLevel(requests, 1, requestsPerMinute);
    if (retryAfterMs === 0) requests.level--;
    void transaction.store.put({ ...record, requests, tokens, lastUsed: now });
    await transaction.done;
    const limits = limitsOf({ ...record, requests, tokens });
    return { ...admission(record), limits, exceeded: retryAfterMs > 0 ? { retryAfterMs } : null };
  });
}

function admitOther(scope: string, hash: string, now: number): Promise<Admission> {
  return withDatabase(scope, async (database) => {
    const record = valid(await database.getFromIndex('keys', 'hashes', hash), hash, now);
    if (typeof record === 'string') return refused(record);
    if (record.lastUsed === null || now - record.lastUsed > LAST_USED_STALE_MS)
      await update(scope, record.id, (before) => ({ ...before, lastUsed: now }));
    return admission(record);
  });
}

async function reserve(scope: string, id: string, wanted: number, now: number): Promise<Reservation> {
  let retryAfterMs: number | null = null;
  const record = await update(scope, id, (before) => {
    const { requestsPerMinute, tokensPerMinute } = before.limits;
    const requests = refill(before.requests, requestsPerMinute, now);
    const tokens = refill(before.tokens, tokensPerMinute, now);
    const waitMs = untilLevel(tokens, Math.min(wanted, tokensPerMinute), tokensPerMinute);
    if (waitMs > 0) {
      retryAfterMs = waitMs;
      requests.level = Math.min(requestsPerMinute, requests.level + 1);
    } else tokens.level -= wanted;
    return { ...before, requests, tokens };
  });
  return { retryAfterMs, limits: record && limitsOf(record) };
}

/** The level falls below zero where a reply took more than was reserved: the requests after it wait longer. */
async function settle(scope: string, id: string, extra: number, now: number): Promise<void> {
  await update(scope, id, (record) => {
    const { tokensPerMinute } = record.limits;
    const tokens = refill(record.tokens, tokensPerMinute, now);
    return { ...record, tokens: { ...tokens, level: Math.min(tokensPerMinute, tokens.level - extra) } };
  });
}

/** Changes a record in one transaction; resolves to the record as changed, or null when there is none. */
async function update(
  scope: string,
  id: string,
  change: (record: KeyRecord) => KeyRecord,
): Promise<KeyRecord | null> {
  return withDatabase(scope, async (database) => {
    const transaction = database.transaction('keys', 'readwrite', { durability: 'relaxed' });
    const record = await transaction.store.get(id);
    const changed = record ? change(record) : null;
    if (changed) void transaction.store.put(changed);
    await transaction.done;
    return changed;
  });
}

function admission({ id, label, models, deviceOnly = false, limits }: KeyRecord): Admitted {
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
