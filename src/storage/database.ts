import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { KeyRecord } from '../keys/key-record.ts';
import type { ResponseRecord } from './response-store.ts';

const NAME = 'localtext';
const VERSION = 2;

interface Schema extends DBSchema {
  keys: { key: string; value: KeyRecord; indexes: { hashes: string } };
  /** What the page sets and the service worker must still know after a restart: the site's own catalog. */
  settings: { key: string; value: unknown };
  /** `age` is by creation and then size, so that both are known without reading the answers themselves. */
  responses: { key: string; value: ResponseRecord; indexes: { age: [number, number] } };
}

export type LocaltextDatabase = IDBPDatabase<Schema>;

let opened: Promise<LocaltextDatabase> | null = null;

/** Runs `work` on the database; once more on a new connection when the browser had closed the old one. */
export async function withDatabase<T>(work: (database: LocaltextDatabase) => Promise<T>): Promise<T> {
  const connection = open();
  try {
    return await work(await connection);
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
    forget(connection);
    return work(await open());
  }
}

function open(): Promise<LocaltextDatabase> {
  if (opened) return opened;
  const connection: Promise<LocaltextDatabase> = openDB<Schema>(NAME, VERSION, {
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
      forget(connection);
      (event.target as IDBDatabase).close();
    },
    terminated() {
      forget(connection);
    },
  });
  opened = connection;
  connection.catch(() => forget(connection));
  return connection;
}

function forget(connection: Promise<LocaltextDatabase>): void {
  if (opened === connection) opened = null;
}
