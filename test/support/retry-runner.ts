import { relative } from 'node:path';
import { TestRunner } from 'vitest';

import { allowedRetry } from './allowed-retries.ts';

/** Gives a second run to the tests that are listed for it, and to no others. */
export default class RetryRunner extends TestRunner {
  override async onBeforeRunTask(test: Parameters<TestRunner['onBeforeRunTask']>[0]): Promise<void> {
    const file = relative(this.config.root, test.file.filepath).replaceAll('\\', '/');
    if (test.type === 'test' && allowedRetry(file, test.name) !== null) test.retry = 1;
    await super.onBeforeRunTask(test);
  }
}
