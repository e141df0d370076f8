import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

/** Ends the run with one plain line, for those who read the log and not the colours. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    let passed = 0;
    // What broke outside of any test counts as one failure each: a run that broke must not look clean.
    let failed = errors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
      }
    }
    if (reason !== 'passed') failed = Math.max(failed, 1);
    // After the default reporter's own summary, which it writes when this event is over.
    process.once('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
