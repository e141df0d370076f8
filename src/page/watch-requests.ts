import { requestLogChannel, PROTOCOL_VERSION, type RequestLogEntry, type RequestLogMessage } from '#protocol';
import { siteScope } from './site.ts';

/**
 * Calls `onEntry` for every `/v1` request of the app, from any tab: when the request arrives, and again
 * whenever more is known about it. Each entry replaces the earlier one with the same id. Entries never have
 * keys; bodies are cut at 16,384 characters.
 * @example
 * ```ts
 * import { watchRequests } from 'localtext';
 *
 * const stop = watchRequests(({ path, state, totalMs }) => console.log(path, state, totalMs));
 * ```
 * @param scope path of the service worker's scope. Default: the site's base. `'/app/'` for `start({ base: '/app/' })`
 * @returns a function that stops it
 */
export function watchRequests(
  onEntry: (entry: RequestLogEntry) => void,
  scope: string = siteScope(),
): () => void {
  const channel = new BroadcastChannel(requestLogChannel(scope));
  channel.addEventListener('message', ({ data }: MessageEvent<RequestLogMessage | null>) => {
    if (data?.version === PROTOCOL_VERSION && data.entry) onEntry(data.entry);
  });
  return () => channel.close();
}
