import { brokerChannel, type BrokerMessage } from '../../protocol/discovery.ts';
import { nameIn } from '../../protocol/locks.ts';
import { withTrustedWorkers } from '../../util/trusted-urls.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import type { EngineTransport } from '../../transport/engine-connection.ts';
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

const links = new WeakMap<ElectionMember, MessagePort>();

/** This page's port to the broker. While the page leads, the broker sends it the others' requests. */
export function linkToBroker(leader: ElectionMember): MessagePort {
  const before = links.get(leader);
  if (before) return before;
  const { port } = withTrustedWorkers(
    () =>
      new SharedWorker(new URL('./broker/broker.ts', import.meta.url), {
        type: 'module',
        name: `${nameIn(leader.scope)}-broker`,
      }),
  );
  links.set(leader, port);
  port.onmessage = ({ data, ports: [requested] }: MessageEvent<BrokerMessage>) => {
    if (requested && data.type === 'localtext:need-engine') leader.serve(requested, data.version);
  };
  const announce = (): void => {
    if (leader.leading) port.postMessage({ type: 'localtext:leading' } satisfies BrokerMessage);
  };
  leader.addEventListener('change', announce);
  announce();
  return port;
}
