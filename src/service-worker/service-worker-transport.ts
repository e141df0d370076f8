import type { EngineTransport } from '../tabs/client/find-engine.ts';
import type { NeedEngine } from '../protocol/discovery.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';

/** Asks every window of the origin, also those that this service worker does not control: one of them leads. */
export function serviceWorkerTransport(clients: Clients, scope: string): EngineTransport {
  const needEngine: NeedEngine = { type: 'localtext:need-engine', version: PROTOCOL_VERSION, scope };
  return {
    async offer(openPort) {
      const windows = await clients.matchAll({ type: 'window', includeUncontrolled: true });
      for (const client of windows) client.postMessage(needEngine, [openPort()]);
    },
  };
}
