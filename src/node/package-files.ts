import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The package's own folder, seen from src/node as from dist/node. */
const root = new URL('../../', import.meta.url);

export const packageFile = (path: string): string => fileURLToPath(new URL(path, root));

/** Whether this is a clone of the repository, and not the published package, which has no sources. */
export const isClone = (): boolean => existsSync(packageFile('sw/sw.ts'));

/** The service worker's source, in a clone of the repository; a package has it built. */
export const serviceWorkerSource = (): string | null => (isClone() ? packageFile('sw/sw.ts') : null);

/** Output of `npm run prepack` for sites without a bundler. */
export const STATIC_FOLDER = 'dist/static';

/**
 * The engine's worker as modules, for bundlers; the chunk of web-llm in it has a name with this beginning.
 */
export const WORKER_MODULES = 'dist/lib/worker';
export const WEB_LLM_CHUNK = 'web-llm-';

/** Name of the service worker's file. Its folder is its scope. */
export const SERVICE_WORKER = 'localtext-sw.js';

/**
 * Imported by a site's own service worker: the list of localtext's own files, and all of localtext with that
 * list.
 */
export const OWN_FILES = 'localtext-sw-files.js';
export const SERVICE_WORKER_IMPORT = 'localtext-sw-import.js';

/** Script in `STATIC_FOLDER` that replaces a service worker that is no longer needed. */
export const REMOVAL_WORKER = 'localtext-sw-remove.js';

/**
 * The built service worker, in `STATIC_FOLDER`: the one that can call upstream servers, or the smaller one.
 */
export const builtServiceWorker = (servers: boolean): string =>
  packageFile(`${STATIC_FOLDER}/${servers ? 'localtext-sw-servers.js' : SERVICE_WORKER}`);
