import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { CrashedLoads } from '../../../../src/page/election/crashed-loads.ts';

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.stubGlobal('addEventListener', () => undefined);
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const DAY_MS = 24 * 3600 * 1000;

test('a load that ended its tab is known for 30 days from the last time, and others are not', async () => {
  await new CrashedLoads('/').begun(['large']);
  expect(await new CrashedLoads('/').fatal()).toEqual(['large']);
  vi.advanceTimersByTime(20 * DAY_MS);
  const second = new CrashedLoads('/');
  expect(await second.fatal()).toEqual(['large']);
  await second.begun(['small']);
  expect(await new CrashedLoads('/').fatal()).toEqual(['large', 'small']);
  vi.advanceTimersByTime(11 * DAY_MS);
  expect(await new CrashedLoads('/').fatal()).toEqual(['small']);
  vi.advanceTimersByTime(20 * DAY_MS);
  expect(await new CrashedLoads('/').fatal()).toEqual([]);
});

test('a load that was refused for its record may begin ten minutes later, and others not', async () => {
  const loads = new CrashedLoads('/');
  await loads.begun(['large', 'middle']);
  const next = new CrashedLoads('/');
  await next.refused('large');
  vi.advanceTimersByTime(9 * 60_000);
  // Refused again, it keeps the time of the first refusal.
  await next.refused('large');
  expect(await next.fatal()).toEqual(['middle', 'large']);
  vi.advanceTimersByTime(2 * 60_000);
  expect(await next.fatal()).toEqual(['middle']);
  await next.refused('none');
  expect(await next.fatal()).toEqual(['middle']);
});

test('a worker that is ended while its page lives leaves no record', async () => {
  const loads = new CrashedLoads('/');
  await loads.begun(['large']);
  loads.stop();
  expect(await new CrashedLoads('/').fatal()).toEqual([]);
});
