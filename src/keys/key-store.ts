import { withDatabase, type BucketState, type KeyRecord } from '#database';
import {
  holdLock,
  inFlightLock,
  type Admission,
  type Admitted,
  type KeyStore,
  type LimitState,
  type Reservation,
} from '#protocol';
import type { KeyCache } from './key-cache.ts';
import { KeyWriter } from './key-writer.ts';

/** Minimum interval of `lastUsed` updates by calls that count against no limit: it is their only write. */
const LAST_USED_STALE_MS = 60_000;

/**
 * Keys for the service. A revoked key fails on the next request, in every tab.
 * @param cache copies of keys, for a service worker; absent: keys are read at each request
 */
export function createKeyStore(scope: string, locks: LockManager, cache?: KeyCache): KeyStore {
  const writer = new KeyWriter(scope);
  return {
    async admit(secret, isMetered) {
      const result = await (isMetered
        ? admitMetered(writer, await hashKey(secret))
        : admitUnmetered(scope, secret, writer, cache));
      if (result.admitted || result.reason !== 'unknown') return result;
      // Known keys need no checksum: it only distinguishes a typo from a key that was never issued.
      return (await isWholeKey(secret)) ? result : refused('malformed');
    },
    enter: ({ keyId, inFlightLimit }, requestId) => enterInFlight(locks, keyId, requestId, inFlightLimit),
    reserve: (keyId, tokens) => reserve(writer, keyId, tokens),
    // NaN would be stored and disable the limit.
    settle: (keyId, taken, used) =>
      settle(writer, keyId, Number.isFinite(used) && used >= 0 ? used - taken : 0),
  };
}

type Reason = Exclude<Admission, Admitted>['reason'];

const refused = (reason: Reason): Admission => ({ admitted: false, reason });

/** Returns the record if it is valid; otherwise the reason why it is not. */
function valid(record: KeyRecord, hash: string): KeyRecord | Reason {
  if (record.revokedAt !== null) return 'revoked';
  const until = record.secrets.find((secret) => secret.hash === hash)?.validUntil;
  // NaN counts as expired.
  return Date.now() < Math.min(until ?? Infinity, record.expiresAt ?? Infinity) ? record : 'expired';
}

/** Lookup and limit in one transaction, so that concurrent requests never use the same token twice. */
async function admitMetered(writer: KeyWriter, hash: string): Promise<Admission> {
  let refusal: Reason = 'unknown';
  let retryAfterMs = 0;
  const record = await writer.write({ hash }, (before) => {
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
  });
  if (!record) return refused(refusal);
  const exceeded = retryAfterMs > 0 ? { retryAfterMs } : null;
  return { ...admission(record), limits: limitsOf(record), exceeded };
}

function admitUnmetered(
  scope: string,
  secret: string,
  writer: KeyWriter,
  cache: KeyCache | undefined,
): Promise<Admission> {
  return withDatabase(scope, async (database) => {
    const load = async (): Promise<{ hash: string; record: KeyRecord } | null> => {
      const hash = await hashKey(secret);
      const record = await database.getFromIndex('keys', 'hashes', hash);
      return record ? { hash, record } : null;
    };
    const known = await (cache ? cache.find(database, secret, load) : load());
    if (!known) return refused('unknown');
    const record = valid(known.record, known.hash);
    if (typeof record === 'string') return refused(record);
    if (record.lastUsed === null || Date.now() - record.lastUsed > LAST_USED_STALE_MS) {
      const lastUsed = Date.now();
      known.record = { ...record, lastUsed };
      await writer.write({ id: record.id }, (before) => ({ ...before, lastUsed }));
    }
    return admission(record);
  });
}

async function reserve(writer: KeyWriter, id: string, wanted: number): Promise<Reservation> {
  let retryAfterMs: number | null = null;
  let taken = 0;
  const record = await writer.write({ id }, (before) => {
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
async function settle(writer: KeyWriter, id: string, extra: number): Promise<void> {
  await writer.write({ id }, (record) => {
    const { tokensPerMinute } = record.limits;
    const tokens = refill(record.tokens, tokensPerMinute);
    return { ...record, tokens: { ...tokens, level: Math.min(tokensPerMinute, tokens.level - extra) } };
  });
}

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
