import type { Reporter, TestCase, TestModule, TestRunEndReason } from 'vitest/node';

import { allowedRetry } from './allowed-retries.ts';

/** Ends the run with the tests that were run again and why they had failed, and one plain line for those who read the log and not the colours. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    let passed = 0;
    const again: string[] = [];
    // What broke outside of any test counts as one failure each: a run that broke must not look clean.
    let failed = errors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if ((test.diagnostic()?.retryCount ?? 0) > 0) again.push(lineOf(test));
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
      }
    }
    if (reason !== 'passed') failed = Math.max(failed, 1);
    // After the default reporter's own summary, which it writes when this event is over.
    process.once('exit', () => process.stdout.write(`${again.join('')}${passed} passed, ${failed} failed\n`));
  }
}

const lineOf = (test: TestCase): string => {
  const { module, name, fullName } = test;
  const why = allowedRetry(module.relativeModuleId, name);
  const messages = (test.result().errors ?? []).map(({ message }) => `  ${message}\n`);
  return `run again: ${module.relativeModuleId} > ${fullName} (${why ?? 'allowed by the test itself'})\n${messages.join('')}`;
};
