import { blockedMessage } from '../util/policy-violations.ts';
import { LocaltextError } from './localtext-error.ts';

const instead = 'use createFetch() instead: new OpenAI({ fetch: createFetch() }).';

export const noServiceWorkers = (): LocaltextError =>
  new LocaltextError(
    'service_worker_unavailable',
    `This browser has no service workers here (a private window?): ${instead}`,
  );

/** What the browser's own error means for the site. */
export function registrationFailed(error: unknown, url: string): LocaltextError {
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
    `The service worker at ${url} could not be registered (${text}). If this persists, ${instead}`,
    error,
  );
}

export const foreignWorker = (script: string, scope: string): LocaltextError =>
  new LocaltextError(
    'service_worker_foreign',
    `Another service worker, ${script}, is registered for ${scope}, and a scope has one only. If the site uses it, add localtext to it (docs/service-worker.md) and pass it: start({ serviceWorker: { url: '${new URL(script).pathname}' } }). If it is left from an earlier version of the site, unregister it before start(): await (await navigator.serviceWorker.getRegistration('${new URL(scope).pathname}'))?.unregister().`,
  );
