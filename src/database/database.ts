import { type DBSchema, type IDBPDatabase, type IDBPObjectStore, openDB } from 'idb';

import type { AddedModelRecord, Catalog } from '#catalog';
import { nameIn, type StoredFacts } from '#protocol';
import { abortable, delay, isQuotaError, serverError } from '#base';
import { dropCopies, type Copies } from './copies.ts';

const VERSION = 1;

export interface ResponseRecord {
  id: string;
  keyId: string;
  /** Milliseconds since 1970. */
  created: number;
  /** Stored response as JSON, with indexes into `urls` for its URLs. */
  content: string;
  urls: unknown[];
  /** Characters of content and URLs, roughly the size of the record. */
  characters: number;
}

interface Schema extends DBSchema {
  keys: { key: string; value: KeyRecord; indexes: { hashes: string } };
  /** Settings of the page that the service worker needs after a restart, such as the site's own catalog. */
  settings: { key: string; value: unknown };
  /** The index `owner` holds key, creation time and size, so that pruning does not read the responses. */
  responses: { key: string; value: ResponseRecord; indexes: { owner: [string, number, number] } };
}

type LocaltextDatabase = IDBPDatabase<Schema>;

interface Connection {
  /** Fails after `OPEN_MS`, for all calls until the database has opened. */
  database: Promise<LocaltextDatabase>;
}

/** Connections by scope: each app has its own database. */
const opened = new Map<string, Connection>();
const onDeleted = new Map<string, () => void>();

const STORES = ['keys', 'settings', 'responses'] as const;
const KEY_PATHS = { keys: 'id', settings: null, responses: 'id' } as const;
const isOurs = (database: LocaltextDatabase): boolean =>
  STORES.every(
    (name) =>
      database.objectStoreNames.contains(name) &&
      database.transaction(name).store.keyPath === KEY_PATHS[name],
  );
const foreignDatabase = (name: string): string =>
  `The IndexedDB database ${name} lacks localtext's stores, so another script of this site made it. Give that script's database another name, delete this one (\`indexedDB.deleteDatabase('${name}')\`), and reload.`;

/**
 * Time limit for opening the database. A tab of an earlier build with an open dialog blocks an upgrade, and
 * Chromium's storage can stop answering.
 */
const OPEN_MS = 10_000;

/**
 * Runs `work` on the database; once more on a new connection when the browser had closed the old one.
 * @throws DOMException `TimeoutError` if it does not open in time; at once after that, until it has opened
 * @throws ServiceError `storage_unavailable` if another script has made the database
 */
export async function withDatabase<T>(
  scope: string,
  work: (database: LocaltextDatabase) => Promise<T>,
): Promise<T> {
  const connection = open(scope);
  try {
    return await work(await connection.database);
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
    forget(scope, connection);
    return work(await open(scope).database);
  }
}

/** Runs `work` on one store in one transaction, and resolves when its changes are stored. */
export function withTransaction<Name extends 'keys' | 'responses', T>(
  scope: string,
  name: Name,
  durability: IDBTransactionDurability,
  work: (store: IDBPObjectStore<Schema, [Name], Name, 'readwrite'>) => Promise<T>,
): Promise<T> {
  return withDatabase(scope, async (database) => {
    const transaction = database.transaction(name, 'readwrite', { durability });
    try {
      const [result] = await Promise.all([work(transaction.store), transaction.done]);
      return result;
    } catch (error) {
      // A request that is cut off by the transaction's failure fails with AbortError, which does not say why.
      throw transaction.error ?? error;
    }
  });
}

function open(scope: string): Connection {
  const before = opened.get(scope);
  if (before) return before;
  const name = nameIn(scope);
  const openAt = async (version?: number): Promise<LocaltextDatabase> => {
    const found = await openDB<Schema>(name, version, {
      upgrade(database) {
        const keys = database.createObjectStore('keys', { keyPath: 'id' });
        keys.createIndex('hashes', 'hashes', { multiEntry: true, unique: true });
        database.createObjectStore('settings');
        const responses = database.createObjectStore('responses', { keyPath: 'id' });
        responses.createIndex('owner', ['keyId', 'created', 'characters']);
      },
      blocking(_current, wanted, event) {
        // Another tab upgrades or deletes the database: close it, and reopen it on the next call.
        forget(scope, connection);
        (event.target as IDBDatabase).close();
        if (wanted === null) onDeleted.get(scope)?.();
      },
      terminated() {
        forget(scope, connection);
        onDeleted.get(scope)?.();
      },
    });
    if (isOurs(found)) return found;
    found.close();
    throw serverError('storage_unavailable', foreignDatabase(name));
  };
  // A later build raised the version, and the site has returned to this build.
  const opening = openAt(VERSION).catch((error: unknown) => {
    if ((error as Error).name !== 'VersionError') throw error;
    return openAt();
  });
  const connection: Connection = { database: abortable(opening, AbortSignal.timeout(OPEN_MS)) };
  opened.set(scope, connection);
  opening.then(
    () => (connection.database = opening),
    () => forget(scope, connection),
  );
  return connection;
}

function forget(scope: string, connection: Connection): void {
  if (opened.get(scope) === connection) opened.delete(scope);
}

/** Stored record of a key. Times in milliseconds since 1970. */
export interface KeyRecord {
  id: string;
  label: string;
  /** The key itself, if `ensure` keeps it for the page; only hashes of other keys are stored. */
  key?: string;
  /**
   * Hashes of the key's secrets, for the index: the current one first, then replaced ones within their grace
   * period.
   */
  hashes: string[];
  secrets: { hash: string; validUntil: number | null }[];
  created: number;
  lastUsed: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
  /** Ids that it may use; null: all. */
  models: string[] | null;
  /** Forbids servers to answer its requests. */
  deviceOnly: boolean;
  limits: KeyLimits;
  requests: BucketState;
  tokens: BucketState;
}

/**
 * Token bucket of a limit per minute, which fills steadily. It is stored, so that a restart changes nothing.
 */
export interface BucketState {
  /** Units left; below zero, more was used than was reserved. */
  level: number;
  /** Time of that level, in milliseconds since 1970. */
  at: number;
}

export interface KeyLimits {
  requestsPerMinute: number;
  /**
   * Tokens of prompts and replies in a minute. An estimate is reserved before a job runs, and corrected after
   * it.
   */
  tokensPerMinute: number;
  /** Chats that may run at once. */
  inFlight: number;
}

/** Default limits. They are generous: they stop only an app in an endless loop. */
export const DEFAULT_LIMITS: KeyLimits = { requestsPerMinute: 600, tokensPerMinute: 200_000, inFlight: 64 };

/** Settings by name. An absent one is not set. */
export interface Settings {
  /** The site's own catalog. */
  catalog: Catalog;
  /** Names of variants. */
  prefer: string[];
  /** Entries by the variant's name. */
  upstreamKeys: Record<string, string>;
  /** Facts that the engine stored. Absent: no engine has chosen the models' variants yet. */
  'engine-facts': StoredFacts;
  /** The models that the user added, the oldest first. */
  'added-models': AddedModelRecord[];
}

const OF_SITE = ['catalog', 'prefer', 'upstreamKeys'] as const;

/** Settings of a page that the service worker needs after a restart. */
export type SiteSettings = { [Name in (typeof OF_SITE)[number]]?: Settings[Name] | undefined };

/**
 * Reads a setting. Undefined: it is absent, or its shape is unknown.
 * @param copies of a service worker. What they hold must not be changed
 */
export const readSetting = <Name extends keyof Settings>(
  scope: string,
  name: Name,
  copies?: Copies,
): Promise<Settings[Name] | undefined> =>
  withDatabase(scope, async (database) => {
    const load = async (): Promise<{ value: Settings[Name] | undefined }> => {
      const stored = await database.get('settings', name);
      if (stored === undefined) return { value: undefined };
      const { knownPart } = await import('./setting-shapes.ts');
      return { value: knownPart(name, stored) as Settings[Name] | undefined };
    };
    return (await (copies ? copies.get(database, `setting:${name}`, load) : load()))?.value;
  });

export async function writeSetting<Name extends keyof Settings>(
  scope: string,
  locks: LockManager,
  name: Name,
  value: Readonly<Settings[Name]>,
): Promise<void> {
  await withDatabase(scope, (database) => database.put('settings', value, name));
  await dropCopies(scope, locks);
}

export async function writeSettings(
  scope: string,
  locks: LockManager,
  settings: SiteSettings,
): Promise<void> {
  let isChanged = false;
  try {
    for (const name of OF_SITE) {
      const value = settings[name];
      // Most starts change nothing.
      const stored = await withDatabase(scope, (database) => database.get('settings', name));
      if (JSON.stringify(stored) === JSON.stringify(value)) continue;
      isChanged = true;
      const write = async (database: LocaltextDatabase): Promise<void> => {
        if (value) await database.put('settings', value, name);
        else await database.delete('settings', name);
        // The stored facts belong to the previous settings. The next engine writes new ones.
        await database.delete('settings', 'engine-facts');
      };
      await withDatabase(scope, write).catch((error: unknown) => {
        // A page must start even if the storage is full: otherwise nobody could delete models.
        if (stored === undefined || !isQuotaError(error)) throw error;
        console.warn(`localtext: the earlier ${name} stays`, error);
      });
    }
  } finally {
    if (isChanged) await dropCopies(scope, locks);
  }
}

/**
 * Pauses before the database is opened again: a database that is being cleared may open once more before it
 * is deleted.
 */
const RESTORE_PAUSES_MS = [0, 1000, 5000];

/**
 * Writes the settings, and again if the database is deleted while the page is open: the service worker has no
 * other source.
 */
export async function keepSettings(scope: string, locks: LockManager, settings: SiteSettings): Promise<void> {
  await writeSettings(scope, locks, settings);
  onDeleted.set(scope, () => void restoreSettings(scope, locks, settings));
}

async function restoreSettings(scope: string, locks: LockManager, settings: SiteSettings): Promise<void> {
  for (const pauseMs of RESTORE_PAUSES_MS) {
    await delay(pauseMs);
    await writeSettings(scope, locks, settings).catch((error: unknown) =>
      console.warn('localtext: the settings are not stored yet', error),
    );
  }
}
