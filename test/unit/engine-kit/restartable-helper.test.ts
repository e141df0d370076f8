import { expect, test, vi } from 'vitest';

import type { openHelper } from '../../../src/engine-kit/helper-worker.ts';
import { RestartableHelper } from '../../../src/engine-kit/restartable-helper.ts';
import { abortable } from '../../../src/base/async.ts';
import { virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const opened: { hasEnded: boolean }[] = [];

/** Workers that never end by themselves: calls under way reject when one is ended. */
vi.mock(import('../../../src/engine-kit/helper-worker.ts'), () => ({
  openHelper: (async () => {
    const gone = new AbortController();
    const state = { hasEnded: false };
    opened.push(state);
    return {
      call: (call: (helper: object) => Promise<object>) => abortable(call({}), gone.signal),
      end: () => {
        state.hasEnded = true;
        gone.abort(new Error('ended'));
      },
    };
  }) as unknown as typeof openHelper,
}));

test('a call that fails with its worker does not end the next one', async () => {
  const helper = new RestartableHelper('test');
  const never = (): Promise<object> => new Promise(() => undefined);
  const toError = (cause: unknown): Error => new Error(cause === null ? 'late' : 'lost');
  const late = helper.call(never, { timeoutMs: 20, toError });
  const beside = helper.call(never, { timeoutMs: 10_000, toError });
  const next = late.catch((error: Error) => {
    expect(error.message).toBe('late');
    return helper.call(async () => ({ answer: 1 }), { timeoutMs: 10_000, toError });
  });
  await expect(beside).rejects.toThrow('lost');
  expect(await next).toEqual({ answer: 1 });
  expect(opened.map(({ hasEnded }) => hasEnded)).toEqual([true, false]);
  helper.end();
  await vi.waitFor(() => expect(opened.map(({ hasEnded }) => hasEnded)).toEqual([true, true]));
});
