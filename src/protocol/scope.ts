/**
 * An origin may have several apps, each below its own path with its own service worker: that path is an app's scope
 * (`/`, `/notes/`). What an app keeps or shares between its tabs has the scope in its name, so that apps never meet.
 * Names that hold a random id, and files that are found by their hash, need none.
 */
export const scopeOf = (url: string): string => new URL(url).pathname;

/** What every name of the app begins with. An app at the root has no path in it, as before there were scopes. */
export const nameIn = (scope: string): string => (scope === '/' ? 'localtext' : `localtext${scope}`);
