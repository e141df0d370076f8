import { signal } from '@preact/signals';
import { watchRequests, type RequestLogEntry } from '../../src/index.ts';
import { oncePerFrame } from '../once-per-frame.ts';
import { noteClient } from './clients.ts';

const KEPT = 300;

/** The newest first; gathered from when the page opened, whichever view is shown. */
export const requestLog = signal<readonly RequestLogEntry[]>([]);

const entries = new Map<string, RequestLogEntry>();
const publish = oncePerFrame(() => {
  requestLog.value = [...entries.values()].toReversed();
});

export function listenForRequests(): void {
  watchRequests((entry) => {
    // A map keeps the position of an updated key, and so the order of arrival.
    entries.set(entry.id, entry);
    noteClient(entry);
    const oldest = entries.keys().next().value;
    if (entries.size > KEPT && oldest !== undefined) entries.delete(oldest);
    publish.request();
  });
}

export function clearRequests(): void {
  entries.clear();
  publish.request();
}
