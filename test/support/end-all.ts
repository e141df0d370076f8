import { afterAll, onTestFinished } from 'vitest';
import { getCurrentTest } from 'vitest/suite';

import { endAll, setEndWithTest } from './at-end.ts';

setEndWithTest((end) => {
  if (!getCurrentTest()) return false;
  onTestFinished(async () => void (await end()));
  return true;
});
afterAll(endAll);
