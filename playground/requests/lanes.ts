import type { RequestLogEntry } from '../../src/index.ts';

export type Lane = RequestLogEntry[];

/** Puts requests that ran at the same time below each other: each takes the first lane that is free. */
export function lanes(entries: readonly RequestLogEntry[], now: number): Lane[] {
  const result: { lane: Lane; freeFrom: number }[] = [];
  for (const entry of entries.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const end = entry.startedAt + (entry.totalMs ?? now - entry.startedAt);
    const free = result.find(({ freeFrom }) => freeFrom <= entry.startedAt);
    if (free) {
      free.lane.push(entry);
      free.freeFrom = end;
    } else {
      result.push({ lane: [entry], freeFrom: end });
    }
  }
  return result.map(({ lane }) => lane);
}
