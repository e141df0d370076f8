import { messageSW } from 'workbox-window';

import { withTimeout } from '../util/async.ts';
import type { PageToServiceWorker, ServiceWorkerReply } from '../protocol/discovery.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { LocaltextError } from './localtext-error.ts';

export const REPLY_MS = 10_000;

/** @throws LocaltextError when it refuses, speaks another version, or does not answer in 10 s. */
export async function tellServiceWorker(worker: ServiceWorker, message: PageToServiceWorker): Promise<void> {
  const answered = messageSW(worker, message) as Promise<ServiceWorkerReply>;
  const reply = await withTimeout(answered, REPLY_MS);
  if (!reply) {
    throw new LocaltextError(
      'service_worker_failed',
      'The service worker did not answer in 10 s. Reload the page.',
    );
  }
  if (reply.version !== PROTOCOL_VERSION) {
    throw new LocaltextError(
      'protocol_mismatch',
      'The page and its service worker are of different versions. Reload every tab of this site.',
    );
  }
  if (reply.type === 'error')
    throw new LocaltextError(reply.error.code ?? 'service_worker_failed', reply.error.message);
}
