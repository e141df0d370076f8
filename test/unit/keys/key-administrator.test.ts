// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { KeyAdministrator as Administrator } from '../../../src/keys/key-administrator.ts';
import type { KeyRecord, withDatabase } from '../../../src/database/database.ts';
import type { KeyStore } from '../../../src/protocol/service-dependencies.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

const DAY = 86_400_000;
const CHECKSUM_LENGTH = 4;

let now = 1_700_000_000_000;
let keys: Administrator;
let store: KeyStore;
const locks = new FakeLocks().manager;

/** Fresh modules on the same database: what a service worker is after it was stopped. */
async function restart(): Promise<void> {
  vi.resetModules();
  const { KeyAdministrator } = await import('../../../src/keys/key-administrator.ts');
  const { createKeyStore } = await import('../../../src/keys/key-store.ts');
  keys = new KeyAdministrator('/', locks);
  store = createKeyStore('/', locks);
}

beforeEach(async () => {
  globalThis.indexedDB = new IDBFactory();
  now = 1_700_000_000_000;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  await restart();
});

const reason = async (key: string) => {
  const admission = await store.admit(key, false);
  return admission.admitted ? 'admitted' : admission.reason;
};

const exceeded = async (key: string) => {
  const admission = await store.admit(key, true);
  return admission.admitted ? admission.exceeded : admission.reason;
};

/** Works on the database of the module that the keys are of, as each test imports it again. */
const onStored = async <T>(work: Parameters<typeof withDatabase<T>>[1]): Promise<T> =>
  (await import('../../../src/database/database.ts')).withDatabase('/', work);

describe('on a full storage', () => {
  const fill = () =>
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError');
    });

  test('a key is admitted within its limits, and its uses are stored once there is room', async () => {
    const { key, id } = await keys.issue({
      label: 'a',
      limits: { requestsPerMinute: 2, tokensPerMinute: 100 },
    });
    const room = fill();
    expect(await reason(key)).toBe('admitted');
    expect(await exceeded(key)).toBeNull();
    expect((await store.reserve(id, 80)).retryAfterMs).toBeNull();
    expect((await store.reserve(id, 80)).retryAfterMs).not.toBeNull();
    room.mockRestore();
    expect((await store.reserve(id, 10)).retryAfterMs).toBeNull();
    await restart();
    expect((await store.reserve(id, 80)).retryAfterMs).not.toBeNull();
  });

  test('another failure to write refuses the request', async () => {
    const { key } = await keys.issue({ label: 'a' });
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw new DOMException('broken', 'UnknownError');
    });
    await expect(store.admit(key, true)).rejects.toThrow('broken');
  });
});

describe('keys', () => {
  test('are lt_ and 256 random bits, URL-safe, with a checksum, and different each time', async () => {
    const [one, two] = await Promise.all([keys.issue({ label: 'a' }), keys.issue({ label: 'b' })]);
    expect(one.key).toMatch(/^lt_[\w-]{47}$/);
    expect(one.key).not.toBe(two.key);
  });

  test('a typo is distinguished from a key that is not known', async () => {
    const { key } = await keys.issue({ label: 'a' });
    const typo = (key.startsWith('lt_A') ? 'lt_B' : 'lt_A') + key.slice(4);
    expect(await reason(typo)).toBe('malformed');
    expect(await reason(key.slice(0, -CHECKSUM_LENGTH))).toBe('malformed');
    expect(await reason('sk-1234')).toBe('malformed');
    globalThis.indexedDB = new IDBFactory();
    await restart();
    expect(await reason(key)).toBe('unknown');
  });

  test('only hashes are stored, and lists show neither', async () => {
    const { key } = await keys.issue({ label: 'a' });
    const stored = JSON.stringify(await onStored((database) => database.getAll('keys')));
    expect(stored).not.toContain(key.slice(3, 46));
    const listed = JSON.stringify(await keys.list());
    expect(listed).not.toContain(key.slice(3, 46));
    expect(listed).not.toMatch(/hash|secret/);
  });

  test('a stored expiry that is no time has passed', async () => {
    const { key } = await keys.issue({ label: 'a' });
    const [record] = await onStored((database) => database.getAll('keys'));
    await onStored((database) => database.put('keys', { ...record, expiresAt: NaN } as never));
    expect(await reason(key)).toBe('expired');
    expect(await keys.list()).toMatchObject([{ state: 'expired' }]);
  });

  test('label, created, last used and expiry are listed', async () => {
    const { key } = await keys.issue({ label: 'shop', expiresAt: now + DAY, models: ['indigo-owl-4'] });
    now += 1000;
    await store.admit(key, false);
    expect(await keys.list()).toMatchObject([
      { label: 'shop', state: 'active', created: now - 1000, lastUsed: now, models: ['indigo-owl-4'] },
    ]);
    now += DAY;
    expect(await reason(key)).toBe('expired');
    expect((await keys.list())[0]?.state).toBe('expired');
  });

  test('rotated: the old one is good for the grace period alone', async () => {
    const { id, key } = await keys.issue({ label: 'a' });
    const rotated = await keys.rotate(id, { graceMs: 5000 });
    expect(rotated.id).toBe(id);
    expect([await reason(key), await reason(rotated.key)]).toEqual(['admitted', 'admitted']);
    now += 5000;
    expect([await reason(key), await reason(rotated.key)]).toEqual(['expired', 'admitted']);
  });

  test('a second rotation does not lengthen the grace of the first', async () => {
    const { id, key } = await keys.issue({ label: 'a' });
    await keys.rotate(id, { graceMs: 1000 });
    await keys.rotate(id, { graceMs: DAY });
    now += 1000;
    expect(await reason(key)).toBe('expired');
  });

  test('revoked: at once, with those that it replaced, and for good', async () => {
    const { id, key } = await keys.issue({ label: 'a' });
    const rotated = await keys.rotate(id);
    await keys.revoke(id);
    expect([await reason(key), await reason(rotated.key)]).toEqual(['revoked', 'revoked']);
    await expect(keys.rotate(id)).rejects.toThrow(/revoked/);
  });

  describe('ensured', () => {
    test('the same after a restart, from two calls at once, and one for each label', async () => {
      const [first, second] = await Promise.all([keys.ensure({ label: 'a' }), keys.ensure({ label: 'a' })]);
      await restart();
      expect(await keys.ensure({ label: 'a' })).toEqual(first);
      expect(second).toEqual(first);
      expect((await keys.ensure({ label: 'b' })).key).not.toBe(first.key);
      expect(await keys.list()).toHaveLength(2);
      expect(await reason(first.key)).toBe('admitted');
    });

    test('a key that was issued under the same label is left alone', async () => {
      const issued = await keys.issue({ label: 'a' });
      expect((await keys.ensure({ label: 'a' })).id).not.toBe(issued.id);
    });

    test('after a rotation it is the new key', async () => {
      const { id } = await keys.ensure({ label: 'a' });
      const rotated = await keys.rotate(id);
      expect(await keys.ensure({ label: 'a' })).toEqual(rotated);
    });

    test('a revoked or expired one is replaced, and a revoked one no longer stored', async () => {
      const first = await keys.ensure({ label: 'a', expiresAt: now + DAY });
      now += DAY;
      const second = await keys.ensure({ label: 'a' });
      await keys.revoke(second.id);
      const third = await keys.ensure({ label: 'a' });
      expect(new Set([first.id, second.id, third.id]).size).toBe(3);
      expect([await reason(first.key), await reason(second.key), await reason(third.key)]).toEqual([
        'expired',
        'revoked',
        'admitted',
      ]);
      expect(JSON.stringify(await onStored((database) => database.getAll('keys')))).not.toContain(second.key);
    });

    test('its models and limits are those of the last call', async () => {
      const { key } = await keys.ensure({ label: 'a' });
      const limits = { requestsPerMinute: 1 };
      expect((await keys.ensure({ label: 'a', models: ['indigo-owl-4'], limits })).key).toBe(key);
      expect(await keys.list()).toMatchObject([{ models: ['indigo-owl-4'], limits }]);
      expect([await exceeded(key), await exceeded(key)]).toMatchObject([null, { retryAfterMs: 60_000 }]);
    });

    test('lists never show it', async () => {
      const { key } = await keys.ensure({ label: 'a' });
      expect(JSON.stringify(await keys.list())).not.toContain(key);
    });
  });

  test.each([
    ['label', ''],
    ['expiresAt', NaN],
    ['expiresAt', DAY],
    ['models', 'amber-phoenix-4'],
    ['limit', { inFlight: 1 }],
    ['limits.requestsPerMinute', { requestsPerMinute: 0 }],
    ['limits.inFlight', { inFlight: NaN }],
    ['limits.requestsPerHour', { requestsPerHour: 5 }],
  ])('refuses to issue a key for %s %j, and names the field', async (path, value) => {
    const options = { label: 'a', [path.replace(/\..*/, '')]: value };
    await expect(keys.issue(options)).rejects.toThrow(`\`${path}\` `);
    await expect(keys.ensure(options)).rejects.toThrow(`\`${path}\` `);
    expect(await keys.list()).toEqual([]);
    // @ts-expect-error: plain JavaScript leaves it out
    await expect(keys.issue()).rejects.toThrow('`label` must name');
  });

  test('a record that another script has damaged is unknown, and replaced by ensure()', async () => {
    const { key, id } = await keys.ensure({ label: 'a' });
    const [{ secrets: _, ...damaged }] = (await onStored((stored) => stored.getAll('keys'))) as [KeyRecord];
    await onStored((database) => database.put('keys', damaged as never));
    expect(await reason(key)).toBe('unknown');
    expect((await keys.ensure({ label: 'a' })).id).not.toBe(id);
  });

  test('an id that there is not is an error', async () => {
    await expect(keys.revoke('key_none')).rejects.toThrow(/key_none/);
  });
});

const admitted = async (key: string) => {
  const admission = await store.admit(key, true);
  if (!admission.admitted) throw new Error('not admitted');
  return admission;
};

/** Issues a key with a limit of tokens a minute, and admits a request of it. @returns its id */
const limited = async (tokensPerMinute: number): Promise<string> =>
  (await admitted((await keys.issue({ label: 'a', limits: { tokensPerMinute } })).key)).keyId;

describe('limits', () => {
  test('requests a minute, filling steadily, and over a restart', async () => {
    const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 3 } });
    expect([await exceeded(key), await exceeded(key), await exceeded(key)]).toEqual([null, null, null]);
    await restart();
    expect(await exceeded(key)).toEqual({ retryAfterMs: 20_000 });
    now += 20_000;
    expect(await exceeded(key)).toBeNull();
    expect(await exceeded(key)).toEqual({ retryAfterMs: 20_000 });
  });

  test('requests that come together never share what is left', async () => {
    const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 5 } });
    const all = await Promise.all(Array.from({ length: 12 }, () => exceeded(key)));
    expect(all.filter((one) => one === null)).toHaveLength(5);
  });

  test('tokens a minute: reserved before, corrected after', async () => {
    const keyId = await limited(600);
    expect(await store.reserve(keyId, 500)).toMatchObject({
      retryAfterMs: null,
      limits: { tokens: { limit: 600, remaining: 100 } },
    });
    expect((await store.reserve(keyId, 200)).retryAfterMs).toBe(10_000);
    await store.settle(keyId, 500, 60);
    expect(await store.reserve(keyId, 540)).toMatchObject({
      retryAfterMs: null,
      limits: { tokens: { remaining: 0 } },
    });
    // A reply that took more than was reserved is paid off by the next ones.
    await store.settle(keyId, 540, 639);
    expect((await store.reserve(keyId, 1)).retryAfterMs).toBe(10_000);
    now += 10_000;
    expect((await store.reserve(keyId, 1)).retryAfterMs).toBeNull();
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1e9])(
    'a count of %s, which cannot be, leaves the reservation',
    async (used) => {
      const keyId = await limited(600);
      await store.reserve(keyId, 600);
      await store.settle(keyId, 600, used);
      expect(await store.reserve(keyId, 60)).toMatchObject({ retryAfterMs: 6000 });
    },
  );

  test('a record whose level is no number counts as empty, and fills again', async () => {
    const keyId = await limited(600);
    await onStored(async (database) => {
      const record = await database.get('keys', keyId);
      if (record) await database.put('keys', { ...record, tokens: { level: Number.NaN, at: now } });
    });
    expect(await store.reserve(keyId, 60)).toMatchObject({ retryAfterMs: 6000 });
    now += 6000;
    expect(await store.reserve(keyId, 60)).toMatchObject({ retryAfterMs: null });
  });

  test('tokens that are asked for together never exceed what is left', async () => {
    const keyId = await limited(100);
    const all = await Promise.all(Array.from({ length: 64 }, () => store.reserve(keyId, 32)));
    expect(all.filter(({ retryAfterMs }) => retryAfterMs === null)).toHaveLength(3);
  });

  test('an estimate over the whole limit is let in once all of it is free, and retry-after holds', async () => {
    const keyId = await limited(70);
    const { taken } = await store.reserve(keyId, 300);
    expect(taken).toBe(140);
    await store.settle(keyId, taken, 93);
    const { retryAfterMs } = await store.reserve(keyId, 300);
    expect(retryAfterMs).toBeGreaterThan(79_000);
    now += Math.floor(retryAfterMs ?? 0) - 1;
    expect((await store.reserve(keyId, 300)).retryAfterMs).not.toBeNull();
    now += 2;
    expect((await store.reserve(keyId, 300)).retryAfterMs).toBeNull();
  });

  test.each([1, 100, 101, 500_000])(
    'a reservation of %d, never settled, holds for two minutes',
    async (wanted) => {
      const keyId = await limited(100);
      expect(await store.reserve(keyId, wanted)).toMatchObject({ taken: Math.min(wanted, 200) });
      await restart();
      now += 120_000;
      expect(await store.reserve(keyId, 500_000)).toMatchObject({ retryAfterMs: null });
    },
  );

  test('a request that is refused for its tokens is given back', async () => {
    const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 2, tokensPerMinute: 10 } });
    const { keyId } = await admitted(key);
    await store.reserve(keyId, 10);
    await admitted(key);
    expect((await store.reserve(keyId, 10)).limits?.requests.remaining).toBe(1);
    expect(await exceeded(key)).toBeNull();
  });

  test('a clock set back gives nothing and locks nobody out', async () => {
    const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 1 } });
    await exceeded(key);
    now -= DAY;
    expect(await exceeded(key)).toMatchObject({ retryAfterMs: 60_000 });
    now += 60_000;
    expect(await exceeded(key)).toBeNull();
  });

  test('other calls take nothing', async () => {
    const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 1 } });
    await store.admit(key, false);
    expect(await exceeded(key)).toBeNull();
  });
});
