import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

import { contentSecurity, plainScript } from './scripts/playground-plugins.ts';
import localtext from './src/node/vite-plugin/vite-plugin.ts';
import LongestFirst from './test/support/longest-first.ts';
import { testPage } from './test/support/test-page-plugin.ts';

/** A server for the playground's chat model: its URL, as `VITE_SERVER`. */
const server = process.env['VITE_SERVER'];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** They start Python or other programs, or hash many megabytes. `npm run test:unit` leaves them out; `npm test` does not. */
const SLOW = [
  'test/unit/node/{cli,pull,pull-variant,wheels}.test.ts',
  'test/unit/model-files/{download,full-storage,server-faults,stored-faults}.test.ts',
  'test/unit/worker/llama-cpp/read-ahead-blob.test.ts',
];

/** Tests that hold times against fixed limits or that load the whole machine: one file at a time, after all others. */
const TIMED = ['test/browser/{lifetime/abort,long-prompts}.test.ts', 'test/{chaos,fuzz}/**/*.test.ts'];

/** Tests that wait for a browser more than they compute: two files at once. A process that is kept loads its modules once. */
const inBrowser = {
  root: here('./'),
  maxWorkers: 2,
  isolate: false,
  sequence: { groupOrder: 1 },
  testTimeout: 240_000,
  hookTimeout: 180_000,
  // Vitest's own 1 s is too short beside other files.
  expect: { poll: { timeout: 10_000 } },
};

/** No test runs again but those of test/support/allowed-retries.ts. */
const runner = here('./test/support/retry-runner.ts');

/** Builds of the tests' own pages; `bench` has one more. */
const TEST_MODES = new Set(['browser-tests', 'bench']);

export default defineConfig(({ mode }) => ({
  root: here('./playground'),
  // The weights alone are public files, and the plugin serves them: a build need not copy 190 MB.
  publicDir: false,
  // A page that is not there is a 404, not the start page.
  appType: 'mpa',
  plugins: [
    plainScript('theme-before-paint.js'),
    localtext({
      models: here('./public/models'),
      servers: TEST_MODES.has(mode) || server !== undefined,
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
    // A visit waits for every request: all that the first paint takes is one script. The tests' pages share its parts.
    ...(!TEST_MODES.has(mode) && {
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [{ name: 'app', test: /src\/playground\/(app\.tsx|styles\/index\.css)$/ }],
          },
        },
      },
    }),
  },
  test: {
    root: here('./'),
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      here('./test/support/summary-reporter.ts'),
      here('./test/browsers/support/table-reporter.ts'),
    ],
    projects: [
      {
        extends: false,
        test: {
          runner,
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          exclude: SLOW,
          root: here('./'),
          testTimeout: 30_000,
          maxWorkers: 2,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'unit-slow',
          include: SLOW,
          root: here('./'),
          testTimeout: 30_000,
          maxWorkers: 2,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          root: here('./'),
          maxWorkers: 2,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'browser',
          include: ['test/{browser,soak}/**/*.test.ts'],
          exclude: TIMED,
          globalSetup: here('./test/support/browser-setup.ts'),
          ...inBrowser,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'browsers',
          include: ['test/browsers/**/*.test.ts'],
          globalSetup: here('./test/support/browser-setup.ts'),
          ...inBrowser,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'examples',
          include: ['test/examples/**/*.test.ts'],
          globalSetup: here('./test/examples/support/setup.ts'),
          setupFiles: here('./test/examples/support/installed.ts'),
          ...inBrowser,
        },
      },
      {
        extends: false,
        test: {
          runner,
          name: 'timed',
          include: TIMED,
          globalSetup: here('./test/support/browser-setup.ts'),
          ...inBrowser,
          isolate: true,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
}));
