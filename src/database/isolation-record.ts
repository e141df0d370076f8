import { readSetting, withDatabase, writeSetting } from './database.ts';

/** Feature that a page needs and cross-origin isolation breaks. */
export interface IsolationNeed {
  /** `file`: an image, a script, a style sheet or a clip of another origin that did not load. */
  kind: 'file' | 'frame' | 'popup';
  /** URL that it has loaded or opened, without the query. */
  url: string;
}

export interface IsolationRecord {
  need: IsolationNeed | null;
  /** Time when the need was last seen, in milliseconds since 1970. */
  seenAt: number;
  /** URLs of files that fail without isolation, too. */
  failing: string[];
}

/**
 * Whether the browser has COEP `credentialless`, which loads other origins' images and scripts without
 * cookies. WebKit lacks it, also as Chrome on iOS. Firefox for Android lacks it too; its user agent has its
 * own version instead of the desktop's 20100101.
 */
export const hasCredentialless = (): boolean => /(Chrome|20100101 Firefox)\//.test(navigator.userAgent);

const NAME = 'isolation';
const PATHS = 'isolated-paths';
const MAX_PATHS = 100;

/** Age after which a need expires, so that a site that no longer has it gets its threads back. */
const MAX_AGE_MS = 90 * 24 * 3600 * 1000;

export async function readIsolation(scope: string): Promise<IsolationRecord> {
  const stored = await readSetting<IsolationRecord>(scope, NAME);
  const record = stored ?? { need: null, seenAt: 0, failing: [] };
  const age = Date.now() - record.seenAt;
  // Negative if the clock was set back.
  return age < 0 || age > MAX_AGE_MS ? { ...record, need: null } : record;
}

export const writeIsolation = (scope: string, record: IsolationRecord): Promise<void> =>
  writeSetting(scope, NAME, record);

/**
 * Paths of pages that have started localtext. Only these pages are isolated, and watched for features that
 * isolation breaks.
 */
export const readStartedPaths = async (scope: string): Promise<string[]> =>
  (await readSetting<string[]>(scope, PATHS)) ?? [];

/**
 * Adds paths, the latest last, in one transaction: the service worker's next read, for a popup's page, waits
 * for it.
 */
export function addStartedPaths(scope: string, paths: ReadonlySet<string>): Promise<void> {
  return withDatabase(scope, async (database) => {
    const { store, done } = database.transaction('settings', 'readwrite');
    const known = ((await store.get(PATHS)) ?? []) as string[];
    const others = known.filter((path) => !paths.has(path));
    await Promise.all([store.put([...others, ...paths].slice(-MAX_PATHS), PATHS), done]);
  });
}
