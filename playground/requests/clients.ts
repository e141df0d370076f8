import { signal } from '@preact/signals';
import type { RequestLogEntry } from '../../src/index.ts';
import { takeOwnRequest } from '../client/own-requests.ts';

/** This page's id among clients; null until its first request is in the log. */
const ownId = signal<string | null>(null);
/** Ids by page, in the order in which they were first seen. */
const seen = new Map<string, string[]>();

/** Records the client of each new log entry. */
export function noteClient({ requestId, client }: RequestLogEntry): void {
  if (!client) return;
  if (takeOwnRequest(requestId)) ownId.value = client.id;
  const ids = seen.get(client.url);
  if (!ids) seen.set(client.url, [client.id]);
  else if (!ids.includes(client.id)) ids.push(client.id);
}

/** `this tab`, or the page that asked; with a number from the second tab (or visit) on that shows the same page. */
export function clientName({ client }: RequestLogEntry): string {
  if (!client) return 'unknown';
  if (client.id === ownId.value) return 'this tab';
  const place = seen.get(client.url)?.indexOf(client.id) ?? 0;
  return `${pageName(client.url)}${place > 0 ? ` (${place + 1})` : ''}`;
}

function pageName(url: string): string {
  if (!URL.canParse(url)) return 'another tab';
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  if (origin !== location.origin) return origin + path;
  // A page's path would not tell its own tabs apart.
  return path === location.pathname + location.search ? 'another tab' : path;
}
