import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

import { contentSecurity, publicFiles } from './scripts/playground-plugins.ts';
import { workerChunks } from './scripts/lib/shared-chunks.mjs';
import localtext from './src/node/vite-plugin/vite-plugin.ts';
import { testPage } from './test/support/test-page-plugin.ts';

/** A server for the playground's chat model: its URL, as `VITE_SERVER`. */
const server = process.env['VITE_SERVER'];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Folder where `localtext pull` puts them. */
const weights = here('./public/models');

/** Builds of the tests' own pages; `bench` has one more. */
const TEST_MODES = new Set(['browser-tests', 'bench']);

export default defineConfig(({ mode }) => ({
  root: here('./playground'),
  publicDir: here('./public'),
  // A page that is not there is a 404, not the start page.
  appType: 'mpa',
  plugins: [
    publicFiles(weights),
    localtext({
      models: weights,
      servers: TEST_MODES.has(mode) || server !== undefined,
      // The tests' server sends the headers itself: no page is reloaded.
      isolation: TEST_MODES.has(mode) ? [] : ['./'],
    }),
    ...(TEST_MODES.has(mode)
      ? [
          testPage({ bench: mode === 'bench' }),
          // Scripts have it, so that every test's workers run under it; upstream servers have other ports.
          contentSecurity({
            connect: ['http://localhost:*', 'http://127.0.0.1:*', 'https://127.0.0.1:*'],
            except: /-page\.html/,
          }),
        ]
      : [contentSecurity({ connect: server ? [new URL(server).origin] : [] })]),
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here(TEST_MODES.has(mode) ? './dist/test-site' : './dist/site'),
    emptyOutDir: true,
    target: 'es2023',
    chunkSizeWarningLimit: 3_000,
    rolldownOptions: {
      // They concern contributors, and `npm start` prints warnings.
      checks: { bundlerTimings: false, ineffectiveDynamicImport: false },
      // A visit waits for every request: all that the first paint takes is one script, all other views are one, without
      // their libraries. The tests' pages share its parts.
      ...(!TEST_MODES.has(mode) && {
        output: {
          codeSplitting: {
            groups: [
              { name: 'app', tags: ['$initial'] },
              {
                name: 'views',
                test: /\/playground\/(?!markdown\/|embeddings\/draw-map)/,
                includeDependenciesRecursively: false,
              },
              { name: 'page', test: /^(?!.*node_modules).*\/src\// },
            ],
          },
        },
      }),
    },
  },
  worker: { rolldownOptions: { output: { codeSplitting: workerChunks } } },
}));
