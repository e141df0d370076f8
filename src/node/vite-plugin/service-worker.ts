import { readFile } from 'node:fs/promises';
import * as vite from 'vite';

import { builtServiceWorker, serviceWorkerSource } from '../package-files.ts';
import type { NetworkFirst } from '#base';
import { prefix, type FileLists } from '../site-files.ts';

export interface ServiceWorkerOptions {
  /** Source of the site's own service worker, which includes localtext; null: localtext's. */
  entry: string | null;
  root: string;
  files: FileLists;
  /** Absent: pages come from the files. */
  networkFirst?: NetworkFirst | null;
  /** Whether localtext's service worker can call upstream servers; the site's own always can. */
  servers: boolean;
  production: boolean;
}

/** Builds one classic script, with the list of the site's files in front. */
export async function serviceWorker({
  entry,
  root,
  files,
  networkFirst = null,
  servers,
  production,
}: ServiceWorkerOptions): Promise<string> {
  const source = entry ?? serviceWorkerSource();
  const code = source
    ? await bundle(source, { root, production, servers: servers || entry !== null })
    : await readFile(builtServiceWorker(servers), 'utf8');
  return prefix(files, networkFirst) + code;
}

/**
 * Bundles a service worker into one classic script: not all browsers run module service workers, and a single
 * file is compared byte by byte when the browser looks for an update.
 */
async function bundle(
  entry: string,
  { root, production, servers }: Pick<ServiceWorkerOptions, 'root' | 'production' | 'servers'>,
): Promise<string> {
  const mode = production ? 'production' : 'development';
  const result = await vite.build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    mode,
    define: { 'process.env.NODE_ENV': JSON.stringify(mode), __LOCALTEXT_SERVERS__: String(servers) },
    build: {
      write: false,
      minify: production,
      sourcemap: production ? false : 'inline',
      // Built as a library, so that Vite adds nothing to `import()`: the imported code runs when it is first
      // needed.
      lib: { entry, formats: ['iife'], name: 'serviceWorker', fileName: 'service-worker' },
    },
  });
  const [output] = Array.isArray(result) ? result : [result];
  if (output === undefined || !('output' in output)) throw new Error('the service worker was not bundled');
  return output.output[0].code;
}
