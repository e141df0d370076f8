import { Workbox } from 'workbox-window';
import { blockedMessage } from '../protocol/policy-violations.ts';
import { trustedScriptUrl } from '../protocol/trusted-urls.ts';
import { LocaltextError } from './localtext-error.ts';
import { serviceWorkerName, siteBase } from './site.ts';
import { folderUrl, type StartOptions } from './start-options.ts';

const instead = 'use createFetch() instead: new OpenAI({ fetch: createFetch() }).';

/** Registers the service worker; `onWaiting` is called when a new version waits to take over. */
export async function register(
  options: StartOptions,
  onWaiting: () => void,
): Promise<ServiceWorkerRegistration> {
  if (!('serviceWorker' in navigator)) {
    throw new LocaltextError(
      'service_worker_unavailable',
      `This browser has no service workers here (a private window?): ${instead}`,
    );
  }
  const { serviceWorker = {} } = options;
  if (serviceWorker instanceof ServiceWorkerRegistration) return watched(serviceWorker, onWaiting);
  const url = scriptUrl(serviceWorker.url, options);
  const { scope } = serviceWorker;
  const workbox = new Workbox(trustedScriptUrl(url), {
    updateViaCache: 'none',
    ...(scope !== undefined && { scope }),
  });
  workbox.addEventListener('waiting', onWaiting);
  try {
    const registration = await workbox.register({ immediate: true });
    if (registration) return registration;
    throw new Error('no registration');
  } catch (error) {
    throw explain(error, url);
  }
}

/** A registration that the site has made: only what we have to hear of is added. */
function watched(registration: ServiceWorkerRegistration, onWaiting: () => void): ServiceWorkerRegistration {
  const watch = (): void => {
    const worker = registration.installing;
    worker?.addEventListener('statechange', () => {
      if (worker.state === 'installed' && registration.active) onWaiting();
    });
  };
  registration.addEventListener('updatefound', watch);
  watch();
  // Told after `start()` has its handle.
  if (registration.waiting && registration.active) setTimeout(onWaiting);
  return registration;
}

function scriptUrl(path: string | undefined, { base = siteBase, isolation }: StartOptions): string {
  const url = new URL(path ?? folderUrl(base) + serviceWorkerName, document.baseURI);
  if (isolation === 'off') url.searchParams.set('isolation', 'off');
  return url.href;
}

function explain(error: unknown, url: string): LocaltextError {
  const text = error instanceof Error ? error.message : String(error);
  if (/MIME type/i.test(text)) {
    return new LocaltextError(
      'service_worker_mime_type',
      `${url} is not served as JavaScript: most likely it does not exist, and the server answers with its page instead. Put localtext's service worker there (the Vite plugin does), or name its place: start({ serviceWorker: { url } }).`,
      error,
    );
  }
  if (/404|bad HTTP response|not found/i.test(text)) {
    return new LocaltextError(
      'service_worker_not_found',
      `There is no service worker at ${url}. Put localtext's there (the Vite plugin does), or name its place: start({ serviceWorker: { url } }).`,
      error,
    );
  }
  if (/Content Security Policy|TrustedScriptURL/i.test(text)) {
    const directive = /TrustedScriptURL/.test(text) ? "require-trusted-types-for 'script'" : 'worker-src';
    return new LocaltextError('worker_blocked', blockedMessage(url, directive), error);
  }
  if (error instanceof DOMException && ['SecurityError', 'NotSupportedError'].includes(error.name)) {
    return new LocaltextError(
      'service_worker_blocked',
      `The browser does not let this page register a service worker (cookies blocked, a private window, or a scope above the script's folder): ${instead}`,
      error,
    );
  }
  return new LocaltextError(
    'service_worker_failed',
    `The service worker at ${url} could not be registered (${text}). If it stays so, ${instead}`,
    error,
  );
}
