import { LocaltextError } from './localtext-error.ts';

/** The oldest versions that have every required API; `AbortSignal.any` is the newest of them. */
const FLOOR = 'Chrome or Edge 116, Firefox 124, Safari 17.4 (macOS and iOS)';

/** Browsers hide Web Locks and more from pages that are not secure. */
export function unsupported(missing: string[]): LocaltextError {
  if (!isSecureContext) {
    return new LocaltextError(
      'insecure_context',
      'This page is not in a secure context, and only such pages have service workers and Web Locks. Serve it over https, or from localhost.',
    );
  }
  return new LocaltextError(
    'browser_unsupported',
    `This browser lacks ${missing.join(', ')}. localtext works from these versions on: ${FLOOR}. Update the browser; if it is up to date, an extension or a privacy setting removes the API.`,
  );
}

export function storageRefused(cause: DOMException): LocaltextError {
  if (cause.name === 'QuotaExceededError') {
    return new LocaltextError(
      'storage_full',
      "The browser's storage for this site is full, and nothing was saved. Delete stored models (`weights.delete()`), or free disk space, and try again.",
      cause,
    );
  }
  return new LocaltextError(
    'storage_unavailable',
    `The browser refuses IndexedDB to this page (${cause.name}). localtext keeps keys and settings there. Allow cookies and site data for this site, free space on the device, and reload.`,
    cause,
  );
}

export function cacheRefused(cause: unknown): LocaltextError {
  return new LocaltextError(
    'cache_unavailable',
    'The browser offers no Cache API to this page, and the service worker needs it. Allow site data for this site, or use createFetch() instead: new OpenAI({ fetch: createFetch() }).',
    cause,
  );
}
