import { signal } from '@preact/signals';
import {
  requestLogChannel,
  type RequestLogEntry,
  type RequestLogMessage,
} from '../../protocol/request-log.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import { siteScope } from '../../page/site.ts';
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
  const channel = new BroadcastChannel(requestLogChannel(siteScope()));
  channel.addEventListener('message', ({ data }: MessageEvent<RequestLogMessage>) => {
    if (data.version !== PROTOCOL_VERSION) return;
    // A map keeps the place of a key that is set again: the order of arrival.
    entries.set(data.entry.id, data.entry);
    noteClient(data.entry);
    const oldest = entries.keys().next().value;
    if (entries.size > KEPT && oldest !== undefined) entries.delete(oldest);
    publish.request();
  });
}

export function clearRequests(): void {
  entries.clear();
  publish.request();
}
