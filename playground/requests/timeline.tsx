import { useEffect, useState } from 'preact/hooks';
import type { RequestLogEntry } from '../../src/index.ts';
import { hueOf } from '../client/models.ts';
import { duration } from '../format.ts';

const LEAST_MS = 10_000;
const MOST_MS = 5 * 60_000;
const TICK_MS = 500;

/** Timeline of the last minutes: waiting (light), prefill (medium) and decoding (full). The list below has the figures. */
export function Timeline({ entries }: { entries: readonly RequestLogEntry[] }) {
  const running = entries.some(({ state }) => state === 'running');
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [running, entries]);

  const recent = entries.filter(({ startedAt }) => now - startedAt < MOST_MS);
  const first = Math.min(now - LEAST_MS, ...recent.map(({ startedAt }) => startedAt));
  const place = (ms: number): string => `${((ms - first) / (now - first)) * 100}%`;
  if (recent.length === 0) return null;
  return (
    <figure class="timeline" aria-label="Timeline of the last minutes; the list below has the same figures.">
      {lanes(recent, now).map((lane, index) => (
        <LaneRow key={index} lane={lane} place={place} now={now} />
      ))}
      <figcaption class="figures">
        <span>{duration(now - first)} ago</span>
        <span class="timeline-legend">
          <span>
            <i class="timeline-queue" /> waits
          </span>{' '}
          <span>
            <i class="timeline-prefill" /> reads
          </span>{' '}
          <span>
            <i class="timeline-decode" /> writes
          </span>
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

interface LaneProps {
  lane: Lane;
  place: (ms: number) => string;
  now: number;
}

function LaneRow({ lane, place, now }: LaneProps) {
  return (
    <div class="timeline-lane">
      {lane.map(({ id, model, startedAt, queueMs, firstTokenMs, totalMs }) => {
        const end = startedAt + (totalMs ?? now - startedAt);
        const taken = queueMs === null ? end : startedAt + queueMs;
        const began = firstTokenMs === null ? end : startedAt + firstTokenMs;
        return (
          <span key={id} data-hue={hueOf(model ?? '')} title={`${model ?? ''} ${duration(end - startedAt)}`}>
            <Bar kind="queue" from={place(startedAt)} to={place(taken)} />
            <Bar kind="prefill" from={place(taken)} to={place(began)} />
            <Bar kind="decode" from={place(began)} to={place(end)} />
          </span>
        );
      })}
    </div>
  );
}

function Bar({ kind, from, to }: { kind: 'queue' | 'prefill' | 'decode'; from: string; to: string }) {
  return (
    <i
      class={`timeline-bar timeline-${kind}`}
      style={{ insetInlineStart: from, inlineSize: `calc(${to} - ${from})` }}
    />
  );
}

type Lane = RequestLogEntry[];

/** Puts requests that ran at the same time below each other: each takes the first lane that is free. */
function lanes(entries: readonly RequestLogEntry[], now: number): Lane[] {
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
