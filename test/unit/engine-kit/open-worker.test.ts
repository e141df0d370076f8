import { getEventListeners } from 'node:events';

import { expect, test, vi } from 'vitest';

import { openWorker } from '../../../src/engine-kit/open-worker.ts';

class FakeWorker extends EventTarget {
  terminate(): void {}
}

test('a worker that runs or has ended is not watched for policies, and one that runs still for failures', async () => {
  const scope = new EventTarget();
  vi.stubGlobal('addEventListener', scope.addEventListener.bind(scope));
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('ErrorEvent', Event);
  vi.stubGlobal('location', new URL('https://site.example/'));
  const failures: string[] = [];
  const watches = (): number => getEventListeners(scope, 'securitypolicyviolation').length;
  const open = (): Worker =>
    openWorker('https://site.example/worker.js', {}, ({ wire }) => failures.push(`${wire.code}`));

  const running = open();
  expect(watches()).toBe(1);
  running.dispatchEvent(new Event('message'));
  expect(watches()).toBe(0);

  open().terminate();
  expect(watches()).toBe(0);

  open();
  const violate = (blockedURI: string): void => {
    const violation = { effectiveDirective: 'worker-src', disposition: 'enforce', blockedURI };
    scope.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), violation));
  };
  for (const other of ['https://site.example/widget.js', 'https://widgets.example', 'blob']) violate(other);
  expect([failures, watches()]).toEqual([[], 1]);
  violate('https://site.example/worker.js');
  expect([failures, watches()]).toEqual([['worker_blocked'], 0]);

  running.dispatchEvent(new Event('error'));
  await expect.poll(() => failures).toHaveLength(2);
});
