import type { PageToServiceWorker, ServiceWorkerReply } from '../protocol/discovery.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { LocaltextError } from './localtext-error.ts';

const REPLY_MS = 10_000;

/** @throws LocaltextError when it refuses, speaks another version, or does not answer in 10 s. */
export function tellServiceWorker(worker: ServiceWorker, message: PageToServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      port1.close();
      finish();
    };
    const fail = (code: string, text: string): void => settle(() => reject(new LocaltextError(code, text)));
    const timer = setTimeout(
      () => fail('service_worker_failed', 'The service worker did not answer in 10 s. Reload the page.'),
      REPLY_MS,
    );
    port1.onmessage = ({ data }: MessageEvent<ServiceWorkerReply>) => {
      if (data.version !== PROTOCOL_VERSION) {
        fail(
          'protocol_mismatch',
          'The page and its service worker are of different versions. Reload every tab of this site.',
        );
      } else if (data.type === 'error') fail(data.error.code ?? 'service_worker_failed', data.error.message);
      else settle(resolve);
    };
    worker.postMessage(message, [port2]);
  });
}

/** Resolves when the registration's worker is active. @throws LocaltextError when its installation fails. */
async function activeWorker(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  for (;;) {
    if (registration.active) return registration.active;
    const next = registration.installing ?? registration.waiting;
    if (!next) {
      throw new LocaltextError(
        'service_worker_failed',
        'The service worker could not be installed: a file that it keeps for offline use may be missing. Its console says which; put it in place and reload.',
      );
    }
    await new Promise((resolve) => next.addEventListener('statechange', resolve, { once: true }));
  }
}

/** Has the active worker control this page, without a reload: on a first visit, and after Shift+reload. */
export async function takeControl(registration: ServiceWorkerRegistration): Promise<void> {
  const worker = await activeWorker(registration);
  const { serviceWorker } = navigator;
  if (serviceWorker.controller) return;
  const controlled = new Promise<boolean>((resolve) => {
    serviceWorker.addEventListener('controllerchange', () => resolve(true), { once: true });
    setTimeout(resolve, REPLY_MS, false);
  });
  await tellServiceWorker(worker, { type: 'localtext:claim' });
  if (serviceWorker.controller || (await controlled)) return;
  throw new LocaltextError(
    'service_worker_no_control',
    `The service worker does not control this page. Its scope is ${registration.scope}: the page must lie below it.`,
  );
}
