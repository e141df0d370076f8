import { expect, test } from 'vitest';

import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { Failover } from '../../../src/routing/failover.ts';

const refusal = (passOn: boolean) =>
  new ServiceError({ status: 400, param: 'seed', message: 'no seed', ...(passOn && { passOn: true }) });
const targets = () => [{ variants: ['built-in'] }, { variants: ['small'] }];
const never = new AbortController().signal;

test('what the device cannot do, the next target is asked for', async () => {
  const answer = await new Failover(targets()).first(never, async ({ variants }) => {
    if (variants?.includes('built-in')) throw refusal(true);
    return variants;
  });
  expect(answer).toEqual(['small']);
});

test('a fault of the request is the last word, and so is a refusal by all targets', async () => {
  for (const [passOn, asked] of [
    [false, 1],
    [true, 2],
  ] as const) {
    let calls = 0;
    const answer = new Failover(targets()).first(never, async () => {
      calls++;
      throw refusal(passOn);
    });
    await expect(answer).rejects.toMatchObject({ wire: { param: 'seed' } });
    expect(calls).toBe(asked);
  }
});

test('each target is asked with the word whether another one is left', async () => {
  const seen: boolean[] = [];
  const asking = new Failover([...targets(), { variants: ['smaller'] }]).first(never, async (_, hasNext) => {
    seen.push(hasNext);
    throw refusal(true);
  });
  await expect(asking).rejects.toMatchObject({ wire: { param: 'seed' } });
  expect(seen).toEqual([true, true, false]);
});
