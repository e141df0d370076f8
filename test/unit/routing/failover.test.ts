import { expect, test } from 'vitest';

import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { withFailover } from '../../../src/routing/failover.ts';
import { never } from '../../support/never.ts';

const refusal = (passOn: boolean) =>
  new ServiceError({ status: 400, param: 'seed', message: 'no seed', ...(passOn && { passOn: true }) });
const targets = async () => [{ variants: ['built-in'] }, { variants: ['small'] }];

test('what the device cannot do, the next target is asked for', async () => {
  const answer = withFailover(targets(), never, async function* ({ variants }) {
    if (variants?.includes('built-in')) throw refusal(true);
    yield { type: 'done', variants };
  });
  expect((await answer.next()).value).toEqual({ type: 'done', variants: ['small'] });
});

test('a fault of the request is the last word, and so is a refusal by all targets', async () => {
  for (const [passOn, asked] of [
    [false, 1],
    [true, 2],
  ] as const) {
    let calls = 0;
    const answer = withFailover(targets(), never, () => {
      calls++;
      throw refusal(passOn);
    });
    await expect(answer.next()).rejects.toMatchObject({ wire: { param: 'seed' } });
    expect(calls).toBe(asked);
  }
});

test('each target is asked with the word whether another one is left', async () => {
  const seen: boolean[] = [];
  const all = Promise.resolve([...(await targets()), { variants: ['smaller'] }]);
  const asking = withFailover(all, never, (_, hasNext) => {
    seen.push(hasNext);
    throw refusal(true);
  });
  await expect(asking.next()).rejects.toMatchObject({ wire: { param: 'seed' } });
  expect(seen).toEqual([true, true, false]);
});
