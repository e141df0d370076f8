import type { BrokerMessage } from '../protocol/discovery.ts';
import { withTrustedWorkers } from '../protocol/trusted-urls.ts';
import { nameIn } from '../protocol/scope.ts';
import type { ElectionMember } from './election-member.ts';

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
