import type { PageToServiceWorker, ServiceWorkerReply } from '../protocol/discovery.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { LocaltextError } from './localtext-error.ts';

export const REPLY_MS = 10_000;

/** @throws LocaltextError when it refuses, speaks another version, or does not answer in 10 s. */
export function tellServiceWorker(worker: ServiceWorker, message: PageToServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      port1.close();
      finish();
    };
    const fail = (code: ErrorCode, text: string): void =>
      settle(() => reject(new LocaltextError(code, text)));
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
