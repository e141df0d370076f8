import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

import { contentSecurity } from './src/node/vite/content-security.ts';
import { plainScript } from './src/node/vite/plain-script.ts';
import localtext from './src/node/vite-plugin.ts';
import { testPage } from './test/support/test-page-plugin.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** They start Python or other programs, or hash many megabytes. `npm run test:unit` leaves them out; `npm test` does not. */
const SLOW = [
  'test/unit/node/{cli,pull,pull-variant,wheels}.test.ts',
  'test/unit/engine/weights/{download,full-storage,server-faults,stored-faults}.test.ts',
  'test/unit/engine/wllama/read-ahead-blob.test.ts',
];

export default defineConfig(({ mode }) => ({
  root: here('./src/playground'),
  // The weights alone are public files, and the plugin serves them: a build need not copy 190 MB.
  publicDir: false,
  // A page that is not there is a 404, not the start page.
  appType: 'mpa',
  plugins: [
    plainScript('theme-before-paint.js'),
    localtext({ models: here('./public/models') }),
    ...(mode === 'browser-tests'
      ? [
          testPage(),
          // Scripts have it, so that every test's workers run under it; upstream servers have other ports.
          contentSecurity({ connect: ['http://localhost:*', 'http://127.0.0.1:*'], except: /-page\.html/ }),
        ]
      : [contentSecurity()]),
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here(mode === 'browser-tests' ? './dist/test-site' : './dist/site'),
    emptyOutDir: true,
    target: 'es2023',
    chunkSizeWarningLimit: 3_000,
  },
  test: {
    root: here('./'),
    reporters: [
      'default',
      here('./test/support/summary-reporter.ts'),
      here('./test/browsers/support/table-reporter.ts'),
    ],
    projects: [
      {
        extends: false,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          exclude: SLOW,
          root: here('./'),
          testTimeout: 30_000,
        },
      },
      {
        extends: false,
        test: { name: 'unit-slow', include: SLOW, root: here('./'), testTimeout: 30_000 },
      },
      {
        extends: false,
        test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], root: here('./') },
      },
      {
        extends: false,
        test: {
          name: 'browser',
          include: [
            'test/browser/**/*.test.ts',
            'test/chaos/**/*.test.ts',
            'test/fuzz/**/*.test.ts',
            'test/soak/**/*.test.ts',
          ],
          root: here('./'),
          globalSetup: here('./test/support/browser-setup.ts'),
          fileParallelism: false,
          testTimeout: 180_000,
          // Times of a shared machine: what fails twice is a fault. The report names what was run again.
          retry: 1,
          hookTimeout: 180_000,
        },
      },
      {
        extends: false,
        test: {
          name: 'browsers',
          include: ['test/browsers/**/*.test.ts'],
          root: here('./'),
          globalSetup: here('./test/support/browser-setup.ts'),
          fileParallelism: false,
          testTimeout: 180_000,
          retry: 1,
          hookTimeout: 180_000,
        },
      },
      {
        extends: false,
        test: {
          name: 'examples',
          include: ['test/examples/**/*.test.ts'],
          root: here('./'),
          globalSetup: here('./test/examples/support/setup.ts'),
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          retry: 1,
        },
      },
    ],
  },
}));
