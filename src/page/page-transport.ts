import type { EngineTransport } from '../engine-client/engine-transport.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { Leader } from './leader.ts';

/** Reaches the engine from a page without a service worker: this tab's own when it leads, else through the broker. */
export function pageTransport(leader: Leader): EngineTransport {
  return {
    offer(openPort) {
      if (leader.leading) leader.serve(openPort(), PROTOCOL_VERSION);
      return Promise.resolve();
    },
  };
}
