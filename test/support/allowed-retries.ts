interface AllowedRetry {
  /** Path from the root, or the start of one. */
  file: string;
  /** All tests of the file when not given. */
  name?: string;
  why: string;
}

const DRIVER = 'commands to Firefox and WebKitGTK time out when the machine is busy';
const TIME = 'it holds times against limits, on a machine that may have other work';

/** The tests that run a second time when they fail. All others fail at once. */
export const ALLOWED_RETRIES: readonly AllowedRetry[] = [
  { file: 'test/browsers/', why: DRIVER },
  { file: 'test/browser/lifetime/abort.test.ts', why: TIME },
  { file: 'test/browser/lifetime/service-worker.test.ts', why: TIME },
  {
    file: 'test/browser/lifetime/page-life.test.ts',
    name: 'iframes of the same scope and srcdoc ones are served, sandboxed ones are not',
    why: 'failed once in a whole run, for a reason that is not known yet',
  },
  {
    file: 'test/browser/phone.test.ts',
    name: 'asks before it downloads, and takes the smallest variant',
    why: TIME,
  },
];

/** Why this test may run again; null: it may not. */
export const allowedRetry = (file: string, name: string): string | null =>
  ALLOWED_RETRIES.find((each) => file.startsWith(each.file) && (each.name ?? name) === name)?.why ?? null;
