import { beforeEach, expect, test, vi } from 'vitest';

import { LoadJournal } from '../../../../src/page/election/load-journal.ts';

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

const DAY_MS = 24 * 3600 * 1000;

test('a load that ended its tab is known for 30 days from the last time, and others are not', async () => {
  await new LoadJournal('/').begun(['large']);
  expect(await new LoadJournal('/').fatal()).toEqual(['large']);
  vi.advanceTimersByTime(20 * DAY_MS);
  const second = new LoadJournal('/');
  expect(await second.fatal()).toEqual(['large']);
  await second.begun(['small']);
  expect(await new LoadJournal('/').fatal()).toEqual(['large', 'small']);
  vi.advanceTimersByTime(11 * DAY_MS);
  expect(await new LoadJournal('/').fatal()).toEqual(['small']);
  vi.advanceTimersByTime(20 * DAY_MS);
  expect(await new LoadJournal('/').fatal()).toEqual([]);
});

test('a load whose time lies ahead, as the clock was set back, is not refused', async () => {
  vi.setSystemTime(Date.now() + 365 * DAY_MS);
  await new LoadJournal('/').begun(['large']);
  expect(await new LoadJournal('/').fatal()).toEqual(['large']);
  vi.setSystemTime(Date.now() - 365 * DAY_MS);
  expect(await new LoadJournal('/').fatal()).toEqual([]);
});

test('a load that was refused for its record may begin ten minutes later, and others not', async () => {
  const loads = new LoadJournal('/');
  await loads.begun(['large', 'middle']);
  const next = new LoadJournal('/');
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
  const loads = new LoadJournal('/');
  await loads.begun(['large']);
  loads.stop();
  expect(await new LoadJournal('/').fatal()).toEqual([]);
});
