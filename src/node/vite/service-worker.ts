import { build } from 'vite';

/** One file of the site, for Workbox: a null revision where the name itself has a hash. */
export interface PrecacheEntry {
  url: string;
  revision: string | null;
}

export interface ServiceWorkerOptions {
  /** Path of the TypeScript source. */
  entry: string;
  root: string;
  precache: readonly PrecacheEntry[];
  production: boolean;
}

/**
 * Bundles the service worker into one classic script: module service workers are not everywhere, and a single file is
 * compared byte by byte when the browser looks for an update.
 */
export async function bundleServiceWorker(options: ServiceWorkerOptions): Promise<string> {
  const { entry, root, precache, production } = options;
  const result = await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    mode: production ? 'production' : 'development',
    define: {
      __LOCALTEXT_PRECACHE__: JSON.stringify(precache),
      'process.env.NODE_ENV': JSON.stringify(production ? 'production' : 'development'),
    },
    build: {
      write: false,
      minify: production,
      sourcemap: production ? false : 'inline',
      modulePreload: false,
      rolldownOptions: { input: entry, output: { format: 'iife', codeSplitting: false } },
    },
  });
  const [output] = Array.isArray(result) ? result : [result];
  if (output === undefined || !('output' in output)) throw new Error('the service worker was not bundled');
  return output.output[0].code;
}
