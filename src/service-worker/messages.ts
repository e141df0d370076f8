import type { PageToServiceWorker, ServiceWorkerReply } from '../protocol/discovery.ts';
import { requestsRun } from '../protocol/locks.ts';
import { scopeOf } from '../protocol/scope.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { serverError } from '../api/service-error.ts';

declare const self: ServiceWorkerGlobalScope;

const version = PROTOCOL_VERSION;
const ok: ServiceWorkerReply = { type: 'ok', version };

/** Answers the page library's messages, each on its port. False: not one of its messages. */
export function handleMessage(event: ExtendableMessageEvent): boolean {
  const message = event.data as PageToServiceWorker | null;
  const [port] = event.ports;
  if (!port || typeof message !== 'object' || message === null) return false;
  const reply = async (work: Promise<ServiceWorkerReply>): Promise<void> => port.postMessage(await work);
  switch (message.type) {
    case 'localtext:claim':
      event.waitUntil(reply(self.clients.claim().then(() => ok)));
      return true;
    case 'localtext:version':
      port.postMessage(ok);
      return true;
    case 'localtext:skip-waiting':
      event.waitUntil(reply(skipWaiting()));
      return true;
    default:
      return false;
  }
}

/** A new version that takes over ends the streams of the old one: so not while a request runs. */
async function skipWaiting(): Promise<ServiceWorkerReply> {
  if (await requestsRun(navigator.locks, scopeOf(self.registration.scope))) {
    const { wire } = serverError('requests_running', 'A request is running. Ask again when it has ended.');
    return { type: 'error', version, error: wire };
  }
  await self.skipWaiting();
  return ok;
}
