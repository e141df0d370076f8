import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { KeyRecord } from './key-record.ts';
import { nameIn } from '../protocol/scope.ts';
import type { StoredResponse } from '../api/service-dependencies.ts';

const VERSION = 2;

export interface ResponseRecord extends StoredResponse {
  /** Of all of it as JSON, about its size. */
  characters: number;
}

interface Schema extends DBSchema {
  keys: { key: string; value: KeyRecord; indexes: { hashes: string } };
  /** What the page sets and the service worker must still know after a restart: the site's own catalog. */
  settings: { key: string; value: unknown };
  /** `age` is by creation and then size, so that both are known without reading the answers themselves. */
  responses: { key: string; value: ResponseRecord; indexes: { age: [number, number] } };
}

type LocaltextDatabase = IDBPDatabase<Schema>;

/** By scope: each app has its own database. */
const opened = new Map<string, Promise<LocaltextDatabase>>();

/** Runs `work` on the database; once more on a new connection when the browser had closed the old one. */
export async function withDatabase<T>(
  scope: string,
  work: (database: LocaltextDatabase) => Promise<T>,
): Promise<T> {
  const connection = open(scope);
  try {
    return await work(await connection);
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
    forget(scope, connection);
    return work(await open(scope));
  }
}

function open(scope: string): Promise<LocaltextDatabase> {
  const before = opened.get(scope);
  if (before) return before;
  const connection: Promise<LocaltextDatabase> = openDB<Schema>(nameIn(scope), VERSION, {
    upgrade(database, from) {
      if (from < 1) {
        const keys = database.createObjectStore('keys', { keyPath: 'id' });
        keys.createIndex('hashes', 'hashes', { multiEntry: true, unique: true });
        database.createObjectStore('settings');
      }
      if (from < 2) {
        const responses = database.createObjectStore('responses', { keyPath: 'id' });
        responses.createIndex('age', ['created', 'characters']);
      }
    },
    blocking(_current, _wanted, event) {
      // A newer version waits in another tab: make way, and open again when next asked.
      forget(scope, connection);
      (event.target as IDBDatabase).close();
    },
    terminated() {
      forget(scope, connection);
    },
  });
  opened.set(scope, connection);
  connection.catch(() => forget(scope, connection));
  return connection;
}

function forget(scope: string, connection: Promise<LocaltextDatabase>): void {
  if (opened.get(scope) === connection) opened.delete(scope);
}
