import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

import LongestFirst from './test/support/longest-first.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Unit tests that start programs, read many megabytes, measure processor time or replace modules: each file in its own process. */
const ISOLATED = [
  'test/unit/scripts/test.test.ts',
  'test/unit/node/cli/{cli,init,pull/pull,pull/pull.variant,pull/npm-packages,pull/wheels}.test.ts',
  'test/unit/weights/{download/download,download/download.server-faults,download/download.server-errors,model-storage.full,weight-store.faults}.test.ts',
  'test/unit/weights/added/{consistency,model-adder,model-adder.remote}.test.ts',
  'test/unit/chat-template/bounded-template.test.ts',
  'test/unit/engine-kit/restartable-helper.test.ts',
  'test/unit/engines/{onnx/text-tokenizer,sound/read-audio,voice/{load-voice,networks}}.test.ts',
  'test/unit/{link/requester,llama/read-ahead-blob}.test.ts',
  'test/unit/page/election/election-member.test.ts',
  'test/unit/service/{body/request-body,field-types}.test.ts',
  'test/unit/playground/{markdown/markdown-bounds,chat/{conversation-schema,send},client/{downloads,failed-change},speech/speech-session}.test.ts',
  'test/fuzz/hostile-{arrays,bodies,files,images,schemas,sounds,templates}.test.ts',
];

/** The part of test/browser that a change must pass to be merged: what every site relies on. With `npm test`, it is to take 12 minutes at most. */
const CORE = [
  'test/browser/{chat,conformance,control-plane,engine,server-routes,phonemes,site,upstream}.test.ts',
  'test/browser/lifetime/{engine,page-life,service-worker,tabs}.test.ts',
  'test/browser/playground/playground.test.ts',
];

/** Tests that load the whole machine: one file at a time, after all others. */
const TIMED = [
  'test/browser/{lifetime/abort,long-prompts}.test.ts',
  'test/fuzz/{fuzz,hostile-forms,hostile-parts,hostile-streams}.test.ts',
];
/** They take long by nature: `npm run test:nightly`. */
const NIGHTLY = ['test/nightly/**/*.test.ts', 'test/fuzz/{hostile-onnx,hostile-projectors}.test.ts'];

/** Generated inputs of each kind in the project `fuzz`, times `LOCALTEXT_FUZZ_SCALE`: they take minutes. */
const FUZZ = {
  REQUESTS: 1000,
  BODIES: 100,
  FORMS: 100,
  PARTS: 100,
  FILES: 750,
  MODELS: 5,
  IMAGES: 250,
  SCHEMAS: 100,
  TEMPLATES: 100,
  SOUNDS: 250,
};
const fuzzScale = Number(process.env['LOCALTEXT_FUZZ_SCALE'] ?? 1);
const fuzzEnv = Object.fromEntries(
  Object.entries(FUZZ).map(([name, amount]) => {
    const variable = `LOCALTEXT_FUZZ_${name}`;
    return [variable, process.env[variable] ?? `${Math.ceil(amount * fuzzScale)}`];
  }),
);
/** Limit for requests of another tab: the project runs alone. */
fuzzEnv['LOCALTEXT_FUZZ_MAX_WAIT_MS'] ??= process.env['LOCALTEXT_FUZZ_MAX_WAIT_MS'] ?? '1000';

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

const project = (name: string, options: Options): TestProjectInlineConfiguration => ({
  extends: false,
  test: {
    name,
    root: here('./'),
    // One more than most machines of CI have processors: many tests wait for a server or a program.
    maxWorkers: 3,
    setupFiles: here('./test/support/end-all.ts'),
    // Vitest's own 5 s, and 1 s for `expect.poll`, end a test on a machine that others keep busy. Limits are for what hangs.
    testTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
    ...options,
  },
});

/** Tests that wait for a browser more than they compute: two files at once. A process that is kept loads its modules once. */
const inBrowser: Options = {
  maxWorkers: 2,
  isolate: false,
  sequence: { groupOrder: 1 },
  testTimeout: 240_000,
  hookTimeout: 180_000,
  globalSetup: here('./test/support/browser-setup.ts'),
};

const withExamples: Options = {
  ...inBrowser,
  globalSetup: here('./test/examples/support/setup.ts'),
  setupFiles: [here('./test/support/end-all.ts'), here('./test/examples/support/installed.ts')],
};

const oneByOne: Options = { isolate: true, maxWorkers: 1, sequence: { groupOrder: 2 } };

export default defineConfig({
  root: here('./'),
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', here('./test/browsers/support/table-reporter.ts')],
    projects: [
      // Of what is checked in: documents, the lockfile, lists of tests. `npm run check` runs them.
      project('repository', { include: ['test/repository/**/*.test.ts'] }),
      // One process for many files loads the modules once: half of the processor time.
      project('unit', {
        include: ['test/unit/**/*.test.ts'],
        exclude: ISOLATED,
        isolate: false,
        setupFiles: [here('./test/support/end-all.ts'), here('./test/support/reset-all.ts')],
      }),
      project('unit-isolated', { include: ISOLATED, testTimeout: 120_000, hookTimeout: 60_000 }),
      project('conformance', { include: ['test/conformance/**/*.test.ts'] }),
      project('smoke', { ...inBrowser, include: ['test/smoke/**/*.test.ts'] }),
      project('core', { ...inBrowser, include: CORE }),
      project('browser', {
        ...inBrowser,
        include: ['test/browser/**/*.test.ts'],
        exclude: [...CORE, ...TIMED],
      }),
      project('browsers', { ...inBrowser, include: ['test/browsers/**/*.test.ts'] }),
      project('examples', {
        ...withExamples,
        include: ['test/examples/**/*.test.ts'],
        exclude: ['test/examples/nightly/**'],
      }),
      project('examples-nightly', { ...withExamples, include: ['test/examples/nightly/**/*.test.ts'] }),
      project('timed', { ...inBrowser, ...oneByOne, include: TIMED }),
      project('gpu', { ...inBrowser, ...oneByOne, include: ['test/gpu/**/*.test.ts'] }),
      project('nightly', { ...inBrowser, ...oneByOne, include: NIGHTLY }),
      project('fuzz', { ...inBrowser, ...oneByOne, include: ['test/fuzz/**/*.test.ts'], env: fuzzEnv }),
      project('chaos', { ...inBrowser, ...oneByOne, include: ['test/chaos/**/*.test.ts'] }),
      // On a checkout of web-platform-tests that WPT names.
      project('wpt', {
        ...inBrowser,
        ...oneByOne,
        include: ['test/wpt/**/*.test.ts'],
        testTimeout: 3_600_000,
      }),
      // On a model that MLC_MODEL and MLC_LIBRARY name.
      project('web-llm', {
        ...oneByOne,
        include: ['test/web-llm/**/*.test.ts'],
        testTimeout: 600_000,
        hookTimeout: 1_800_000,
      }),
    ],
  },
});
