import { expect, test, vi } from 'vitest';

import { keepLock, requestLock } from '../../../src/protocol/locks.ts';
import { pausePages, pauseWhenAsked } from '../../../src/protocol/pause-pages.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const NOW = 1_700_000_000_000;

/** Milliseconds that a page pauses for a message. The clock reads `later` from its second reading on. */
function pauseFor(data: unknown, later = NOW): number {
  let elapsed = 0;
  let readings = 0;
  const channel: { onmessage?: (event: { data: unknown }) => void } = {};
  vi.stubGlobal('BroadcastChannel', function () {
    return channel;
  });
  pauseWhenAsked('', new AbortController().signal);
  vi.spyOn(performance, 'now').mockImplementation(() => elapsed++);
  vi.spyOn(Date, 'now').mockImplementation(() => {
    if (readings++ > 5000) throw new Error('The page does not go on.');
    return readings > 1 ? later : NOW;
  });
  channel.onmessage?.({ data });
  return elapsed;
}

test.each([
  ['the time that is left', NOW + 400, 400],
  ['at most a second', NOW + 60_000, 1000],
  ['not at all for a message that is late', NOW - 1, 0],
  ['not at all for another message', 'x', 0],
])('a page pauses %s', (_, data, expected) => {
  expect(pauseFor(data)).toBeCloseTo(expected, -1);
});

test.each([
  [[200], true],
  [[60_000], false],
  [[49, 60_000], false],
])('a request with jobs of %j ms, begun before the pages pause, is waited for: %s', async (jobs, isOver) => {
  const { manager } = new FakeLocks();
  const postMessage = vi.fn(async () => {
    for (const ms of jobs) {
      const release = await keepLock(manager, requestLock('/', '1'));
      await sleep(ms).then(release);
      await sleep(2);
    }
  });
  vi.stubGlobal('BroadcastChannel', function () {
    return { postMessage, close: () => undefined };
  });
  expect(await pausePages(manager, '/')).toBe(isOver);
  expect(postMessage).toHaveBeenCalledOnce();
});

test('a clock that is set back does not prolong the pause', () => {
  expect(pauseFor(NOW + 1000, NOW - 3_600_000)).toBeCloseTo(1000, -1);
});
