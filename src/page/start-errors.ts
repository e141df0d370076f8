import { isQuotaError, PRIVATE_WINDOW, serverError, messageOf, ServiceError } from '#base';
import { blockedMessage } from '#browser';
import { fromWire, LocaltextError } from './localtext-error.ts';

/** The oldest versions that have every required API; `AbortSignal.any` is the newest of them. */
const FLOOR = 'Chrome or Edge 116, Firefox 124, Safari 17.4 (macOS and iOS)';

/** Error for missing APIs. Browsers hide Web Locks and others from pages that are not secure. */
export function unsupported(missing: string[]): LocaltextError {
  if (typeof document === 'undefined') return new LocaltextError('browser_unsupported', NO_PAGE);
  if (!isSecureContext) return new LocaltextError('insecure_context', NOT_SECURE);
  const message = `This browser lacks ${missing.join(', ')}. localtext works from these versions on: ${FLOOR}. Update the browser; if it is up to date, an extension or a privacy setting removes the API.`;
  return new LocaltextError('browser_unsupported', message);
}

const NO_PAGE =
  'This is not a web page (a server?), and localtext runs in pages only. Call it after the page has loaded, for example in an effect or `onMount`, and not in code that a server runs.';
const NOT_SECURE =
  'This page is not in a secure context, and only such pages have service workers and Web Locks. Serve it over https, or from localhost.';

/** Error of a sandboxed page, whose origin cannot have storage or workers. */
const SANDBOX =
  'This page has an opaque origin, which has no storage and no workers: it is sandboxed without `allow-same-origin`. Add that to `sandbox` in its Content-Security-Policy, or to the `sandbox` attribute of its iframe. A data: URL cannot run localtext.';

/** Explains an error of the database to the site. Other errors stay as they are. */
export function storageRefused(cause: unknown): unknown {
  if (cause instanceof ServiceError) return fromWire(cause.wire);
  if (!(cause instanceof DOMException)) return cause;
  if (globalThis.origin === 'null') return new LocaltextError('storage_unavailable', SANDBOX, cause);
  if (isQuotaError(cause)) return new LocaltextError('storage_full', FULL, cause);
  if (cause.name === 'TimeoutError') return new LocaltextError('storage_unavailable', LATE, cause);
  const message = `The browser refuses IndexedDB to this page (${cause.name}). localtext keeps keys and settings there. Allow cookies and site data for this site, free space on the device, and reload.`;
  return new LocaltextError('storage_unavailable', message, cause);
}

const FULL = `The browser's storage for this site is full, and nothing was saved. Delete stored models (\`weights.delete()\`), or free disk space, and try again. ${PRIVATE_WINDOW}`;
const LATE =
  "The browser did not open this site's IndexedDB in time. Another tab of this site may show a dialog: close it, or all tabs of this site. If that does not help, restart the browser.";

const instead =
  'use createFetch() instead: new OpenAI({ baseURL: location.origin + "/v1", fetch: createFetch(), … }).';

export function cacheRefused(cause: unknown): LocaltextError {
  const message = `The browser offers no Cache API to this page, and the service worker needs it. Allow site data for this site, or ${instead}`;
  return new LocaltextError('cache_unavailable', message, cause);
}

export function noServiceWorkers(): LocaltextError {
  const message = `This browser has no service workers here (a private window?): ${instead}`;
  return new LocaltextError('service_worker_unavailable', message);
}

const TRUSTED_TYPES = "require-trusted-types-for 'script'";
const isTrustedTypesError = (error: unknown): boolean => /TrustedScriptURL/.test(messageOf(error));

/** Explains the browser's own error to the site. */
export function registrationFailed(error: unknown, url: string): LocaltextError {
  if (error instanceof LocaltextError) return error;
  if (globalThis.origin === 'null') return new LocaltextError('storage_unavailable', SANDBOX, error);
  const text = messageOf(error);
  if (/MIME type/i.test(text)) {
    const message = `${url} is not served as JavaScript: most likely it does not exist, and the server answers with its page instead. ${PUT_THERE}`;
    return new LocaltextError('service_worker_mime_type', message, error);
  }
  // Addresses in the text may have such numbers, too.
  if (/\b404\b|not found/i.test(text.replaceAll(/https?:\S+/g, ''))) {
    const message = `There is no service worker at ${url}. ${PUT_THERE}`;
    return new LocaltextError('service_worker_not_found', message, error);
  }
  if (/Content Security Policy|TrustedScriptURL/i.test(text)) {
    const directive = isTrustedTypesError(error) ? TRUSTED_TYPES : 'worker-src';
    return new LocaltextError('worker_blocked', blockedMessage(url, directive), error);
  }
  if (error instanceof DOMException && ['SecurityError', 'NotSupportedError'].includes(error.name)) {
    const message = `The browser does not let this page register a service worker. Allow cookies and site data for this site. In a private window, a sandboxed frame, or a scope above the script's folder, ${instead}`;
    return new LocaltextError('service_worker_blocked', message, error);
  }
  const message = `The service worker at ${url} could not be registered (${text}). If this persists, ${instead}`;
  return new LocaltextError('service_worker_failed', message, error);
}

const PUT_THERE =
  "Put localtext's service worker there (the Vite plugin does), or name its place: start({ serviceWorker: { url } }).";

export function notInstalled(): LocaltextError {
  const message =
    "The service worker could not be installed: a file that it keeps may be missing, the storage may be full, or its Content-Security-Policy has no 'self' in connect-src. Its console says which; correct it and reload.";
  return new LocaltextError('service_worker_failed', message);
}

export const doesNotAnswer = (): LocaltextError =>
  new LocaltextError('service_worker_failed', 'The service worker did not answer in 10 s. Reload the page.');

export function otherVersion(): LocaltextError {
  const message = 'The page and its service worker are of different versions. Reload every tab of this site.';
  return new LocaltextError('protocol_mismatch', message);
}

export const noControl = (scope: string): LocaltextError =>
  new LocaltextError(
    'service_worker_no_control',
    location.href.startsWith(scope)
      ? `The service worker does not control this page. Its scope is ${scope}: the page must lie below it. Reload it.`
      : `This page, ${location.origin + location.pathname}, is outside the scope of the service worker, ${scope}. Redirect it to an address that begins with the scope, the slash at its end included; or serve the folder of localtext-sw.js at the page's path or above it, such as / instead of /static/.`,
  );

export function notControlled({ url, status }: Response): LocaltextError {
  const message = `${url} answered ${status}: the service worker does not control this page. Reload it.`;
  return new LocaltextError('service_worker_no_control', message);
}

export function lockStolen(): ServiceError {
  const message =
    'A script of this site keeps taking the Web Lock of the tab that runs the engine (`navigator.locks.request` with `steal`). Remove the script, or close the page or frame that runs it, and try again.';
  return serverError('engine_unavailable', message);
}

export function foreignWorker(script: string, scope: string): LocaltextError {
  const message = `Another service worker, ${script}, is registered for ${scope}, and a scope has one only. If the site uses it, add localtext to it (docs/service-worker.md) and pass its registration: start({ serviceWorker: registration }). If it is left from an earlier version of the site, unregister it before start(): await (await navigator.serviceWorker.getRegistration('${new URL(scope).pathname}'))?.unregister().`;
  return new LocaltextError('service_worker_foreign', message);
}

export const workerFailed = (cause: unknown): ServiceError =>
  isTrustedTypesError(cause)
    ? serverError('worker_blocked', blockedMessage('localtext-engine', TRUSTED_TYPES), cause)
    : serverError(
        'engine_worker_failed',
        "The engine's worker could not be started. The console of the site's first tab says why; reload that tab, and try again.",
        cause,
      );

export function loadBroken(cause: unknown): LocaltextError {
  const message =
    "The model load was interrupted. Try again. If it fails at once, allow 'self' in connect-src of the page's Content-Security-Policy.";
  return new LocaltextError('engine_lost', message, cause);
}
