import { afterAll, onTestFinished, TestRunner } from 'vitest';

import { endAll, setEndWithTest } from './at-end.ts';

setEndWithTest((end) => {
  if (!TestRunner.getCurrentTest()) return false;
  onTestFinished(async () => void (await end()));
  return true;
});
afterAll(endAll);
