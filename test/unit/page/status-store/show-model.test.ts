import { expect, test, vi } from 'vitest';

import { createStore, showModel } from '../../../../src/page/status-store/index.ts';

test('with a signal that is aborted already nothing starts, and the reason is thrown', async () => {
  vi.stubGlobal('document', { createElement: () => new EventTarget() });
  const start = vi.fn<() => Promise<never>>();
  const reason = new Error('the visitor has left');
  const shown = showModel(createStore(start), 'owl', new EventTarget() as Element, {
    signal: AbortSignal.abort(reason),
  });
  await expect(shown).rejects.toBe(reason);
  expect(start).not.toHaveBeenCalled();
});
