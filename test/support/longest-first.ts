import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take about a minute and more, the longest first: one of them that began last would leave a processor idle.
 * Examples come later, as their packages are installed meanwhile. Files that drive other browsers are not neighbours.
 * Vitest's own order needs the durations of an earlier run, which a fresh clone lacks.
 */
const LONGEST = [
  'test/smoke/localtext.test.ts',
  'test/smoke/package.test.ts',
  'test/browsers/engines.test.ts',
  'test/browser/lifetime/engine.test.ts',
  'test/examples/frameworks.test.ts',
  'test/browser/weights-faults/weights-faults.test.ts',
  'test/examples/apps.test.ts',
  'test/browser/lifetime/page-life.test.ts',
  'test/browser/lifetime/tabs.test.ts',
  'test/examples/bundlers.test.ts',
  'test/browser/lifetime/service-worker.test.ts',
  'test/browser/playground/requests.test.ts',
  'test/browser/playground/features.test.ts',
  'test/browser/playground/playground.test.ts',
  'test/browsers/threads.test.ts',
  'test/browser/chat.test.ts',
  'test/browser/reasoning.test.ts',
  'test/browser/weights-storage.test.ts',
  'test/examples/offline-app.test.ts',
  'test/examples/own-worker.test.ts',
  'test/browsers/plumbing.test.ts',
];

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.replaceAll('\\', '/').endsWith(`/${name}`));
      return place < 0 ? LONGEST.length : place;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a sequencer's
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
