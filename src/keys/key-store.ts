import { withDatabase, type BucketState, type Copies, type KeyRecord } from '#database';
import {
  inFlightLock,
  queryLocks,
  takeLock,
  type Admission,
  type Admitted,
  type KeyStore,
  type LimitState,
  type Reservation,
} from '#protocol';
import { copyName, KeyWriter, type Changed, type KeyCopy } from './key-writer.ts';

/** Minimum interval of `lastUsed` updates by calls that count against no limit: it is their only write. */
const LAST_USED_STALE_MS = 60_000;

/** A key that a secret was found to belong to. */
interface KnownKey {
  hash: string;
  id: string;
}

/**
 * Keys for the service. A revoked key fails on the next request, in every tab.
 * @param copies copies of keys, for a service worker; absent: keys are read at each request
 */
export function createKeyStore(scope: string, locks: LockManager, copies?: Copies): KeyStore {
  const writer = new KeyWriter(scope, copies);
  return {
    async admit(secret, isMetered) {
      const known = await findKey(scope, secret, writer, copies);
      const changed =
        known && (await writer.write(known.id, (record) => admitted(record, known.hash, isMetered)));
      if (changed) return changed.result;
      // Known keys need no checksum: it only distinguishes a typo from a key that was never issued.
      return refused((await isWholeKey(secret)) ? 'unknown' : 'malformed');
    },
    enter: ({ keyId, inFlightLimit }) => enterInFlight(locks, keyId, inFlightLimit),
    async reserve(keyId, tokens) {
      const changed = await writer.write(keyId, (record) => reserve(record, tokens));
      return changed?.result ?? { retryAfterMs: null, taken: 0, limits: null };
    },
    async settle(keyId, taken, used) {
      // NaN would be stored and disable the limit.
      const extra = Number.isFinite(used) && used >= 0 ? used - taken : 0;
      await writer.write(keyId, (record) => ({ record: settled(record, extra), result: null }));
    },
  };
}

/** Finds the key of a secret, and makes a copy of its record. */
function findKey(
  scope: string,
  secret: string,
  writer: KeyWriter,
  copies?: Copies,
): Promise<KnownKey | null> {
  const name = `secret:${secret}`;
  // Begun before the database is open.
  const hashed = copies?.peek(name) ? null : hashKey(secret);
  return withDatabase(scope, (database) => {
    const load = async (): Promise<KnownKey | null> => {
      const hash = await (hashed ?? hashKey(secret));
      const record = await database.getFromIndex('keys', 'hashes', hash);
      if (!record || !isWhole(record)) return null;
      await copies?.get<KeyCopy>(database, copyName(record.id), async () => {
        const latest = await writer.latest(record);
        return latest && { record: latest };
      });
      return { hash, id: record.id };
    };
    return copies ? copies.get(database, name, load) : load();
  });
}

/** Whether a record has what its readers rely on: another script of the site may have written it. */
export const isWhole = ({ secrets, limits, requests, tokens }: Partial<KeyRecord>): boolean =>
  Array.isArray(secrets) && [limits, requests, tokens].every((each) => each && typeof each === 'object');

type Reason = Exclude<Admission, Admitted>['reason'];

const refused = (reason: Reason): Admission => ({ admitted: false, reason });

/** Returns why a secret is not valid; null if it is. */
function refusalOf(record: KeyRecord, hash: string): Reason | null {
  if (record.revokedAt !== null) return 'revoked';
  const until = record.secrets.find((secret) => secret.hash === hash)?.validUntil;
  // NaN counts as expired.
  return Date.now() < Math.min(until ?? Infinity, record.expiresAt ?? Infinity) ? null : 'expired';
}

/**
 * Admits a request. Lookup and limit are one change, so that concurrent requests never use the same token
 * twice.
 */
function admitted(before: KeyRecord, hash: string, isMetered: boolean): Changed<Admission> {
  const refusal = refusalOf(before, hash);
  if (refusal) return { record: null, result: refused(refusal) };
  const lastUsed = Date.now();
  if (!isMetered) {
    const isStale = before.lastUsed === null || lastUsed - before.lastUsed > LAST_USED_STALE_MS;
    return { record: isStale ? { ...before, lastUsed } : null, result: admission(before) };
  }
  const { requestsPerMinute, tokensPerMinute } = before.limits;
  const requests = refill(before.requests, requestsPerMinute);
  const tokens = refill(before.tokens, tokensPerMinute);
  const retryAfterMs = untilLevel(requests, 1, requestsPerMinute);
  if (retryAfterMs === 0) requests.level--;
  const record = { ...before, requests, tokens, lastUsed };
  const exceeded = retryAfterMs > 0 ? { retryAfterMs } : null;
  return { record, result: { ...admission(record), limits: limitsOf(record), exceeded } };
}

function reserve(before: KeyRecord, wanted: number): Changed<Reservation> {
  const { requestsPerMinute, tokensPerMinute } = before.limits;
  const requests = refill(before.requests, requestsPerMinute);
  const tokens = refill(before.tokens, tokensPerMinute);
  const waitMs = untilLevel(tokens, Math.min(wanted, tokensPerMinute), tokensPerMinute);
  // At most one minute's debt: the worker that reserved may be stopped before it settles.
  const taken = waitMs > 0 ? 0 : Math.min(wanted, tokens.level + tokensPerMinute);
  if (waitMs > 0) requests.level = Math.min(requestsPerMinute, requests.level + 1);
  tokens.level -= taken;
  const record = { ...before, requests, tokens };
  return { record, result: { retryAfterMs: waitMs > 0 ? waitMs : null, taken, limits: limitsOf(record) } };
}

/**
 * Corrects the level. It falls below zero if a reply took more than was reserved: later requests wait longer.
 */
function settled(record: KeyRecord, extra: number): KeyRecord {
  const { tokensPerMinute } = record.limits;
  const tokens = refill(record.tokens, tokensPerMinute);
  return { ...record, tokens: { ...tokens, level: Math.min(tokensPerMinute, tokens.level - extra) } };
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
 * Counts a key's running requests with Web Locks: each takes one of the key's places. The browser releases them with
 * their holder. A service worker that is killed leaves no count behind, and every tab and worker of the origin counts the
 * same.
 * @returns a function that ends the count; null: `limit` requests are running already
 */
export async function enterInFlight(
  locks: LockManager,
  keyId: string,
  limit: number,
): Promise<(() => void) | null> {
  const places = Math.ceil(limit);
  const nameOf = (place: number): string => inFlightLock(keyId, place % places);
  // Requests at once begin at different places.
  let place = Math.floor(Math.random() * places);
  for (;;) {
    const release = await takeLock(locks, nameOf(place));
    if (release) return release;
    const { held = [] } = await queryLocks(locks);
    const taken = new Set(held.map(({ name }) => name));
    const first = place;
    while (taken.has(nameOf(place))) if (++place === first + places) return null;
  }
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
export const hashKey = async (key: string): Promise<string> => base64url(await sha256(key));

async function checksum(body: string): Promise<string> {
  // Differs from the text whose hash is stored, so that the checksum reveals nothing of that hash.
  const digest = await sha256(`localtext key checksum ${body}`);
  return base64url(digest.subarray(0, 3));
}

const sha256 = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
