import type { EngineTransport } from './client/engine-transport.ts';
import type { BrokerMessage } from '../protocol/discovery.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { linkToBroker } from './broker-link.ts';
import { brokerChannel } from './join.ts';
import type { ElectionMember } from './election-member.ts';

const version = PROTOCOL_VERSION;

/**
 * Reaches the engine from a page without a service worker: this tab's own when it leads, else through a SharedWorker.
 * That one passes real ports on, so that nothing differs from there; a BroadcastChannel cannot, and every delta of
 * every request would reach every tab.
 */
export function pageTransport(leader: ElectionMember): EngineTransport {
  const { scope } = leader;
  const channel = new BroadcastChannel(brokerChannel(scope));
  return {
    offer(openPort) {
      if (leader.leading) leader.serve(openPort(), version);
      else if (typeof SharedWorker === 'function') {
        // The page that leads may have a service worker, and no broker yet.
        channel.postMessage(null);
        linkToBroker(leader).postMessage(
          { type: 'localtext:need-engine', version, scope } satisfies BrokerMessage,
          [openPort()],
        );
      }
      return Promise.resolve();
    },
  };
}
