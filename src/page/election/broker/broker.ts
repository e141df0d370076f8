/// A SharedWorker: passes requests' ports from pages without a service worker to the page that leads.
import type { BrokerMessage } from '../../../protocol/discovery.ts';

declare const self: SharedWorkerGlobalScope;

let leader: MessagePort | null = null;

self.addEventListener('connect', ({ ports: [page] }) => {
  if (!page) return;
  page.onmessage = ({ data, ports: [port] }: MessageEvent<BrokerMessage>) => {
    if (data.type === 'localtext:leading') leader = page;
    else if (!port) return;
    else if (leader) leader.postMessage(data, [port]);
    else port.close();
  };
});
