import { messageOf } from './format.ts';

const NO_SITE_DATA = 'This browser lets the page store no data. Allow it, or leave the private window.';

/** What a visitor can do about a failure, by the code of the error. The other codes concern those who made the site. */
const SAID: Record<string, string> = {
  weights_unavailable: 'The model could not be downloaded. Check the connection, and try again.',
  weights_missing: 'This site does not have the files of this model. Choose another one.',
  weights_corrupt: 'A file of the model arrived damaged. Try again.',
  download_cancelled: 'The download was cancelled in another tab.',
  storage_full: 'This browser has no room left. Delete weights under Models, or free some disk space.',
  storage_failed: 'This browser’s storage does not work. Restart the browser, and try again.',
  storage_unavailable: NO_SITE_DATA,
  cache_unavailable: NO_SITE_DATA,
  service_worker_unavailable: NO_SITE_DATA,
  service_worker_blocked: NO_SITE_DATA,
  out_of_memory: 'This device has too little memory for it. Close other tabs, or choose a smaller model.',
  model_unavailable: 'This device cannot run the model, or cannot get its weights. Choose another one.',
  device_unsupported: 'This device cannot run this model. Choose another one.',
  device_lost: 'The graphics processor stopped. Try again.',
  model_load_failed: 'The model could not be loaded. Close other tabs, and try again.',
  model_not_ready: 'The model took too long to load. Try again.',
  engine_failed: 'The model failed at this text. Try again, or shorten it.',
  engine_crashed: 'The model stopped while it wrote. Try again.',
  engine_lost: 'The model stopped while it wrote. Try again.',
  engine_unavailable: 'Another tab of this site does not respond. Close or reload it, and try again.',
  engine_worker_failed: 'The model could not be started. Reload the page.',
  build_replaced: 'This page has a new version. Reload it.',
  protocol_mismatch: 'Tabs of this site have different versions. Reload all of them.',
  context_length_exceeded: 'The text is too long for this model. Start a new chat, or shorten the message.',
  rate_limit_exceeded: 'Too many requests at once. Wait a moment, and try again.',
  upstream_unavailable: 'The server of this model is out of reach. Try later, or choose another model.',
  upstream_failed: 'The server of this model failed. Try again later, or choose another model.',
  upstream_redirected: 'The server of this model failed. Choose another model.',
  upstream_refused: 'The server of this model refused the site’s key. Choose another model.',
  insecure_context: 'The model runs only on pages with https, or on localhost.',
  browser_unsupported: 'This browser is too old for the model. Update it.',
  connection_broken: 'The connection broke. Try again.',
  internal_error: 'Something went wrong. Reload the page, and try again.',
};

/**
 * Describes a failure to a visitor. If the error's code is known, the first line is in a visitor's words, and the
 * second one is the technical message.
 */
export function problemOf(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | null)?.code;
  return inWords(typeof code === 'string' ? code : '', messageOf(thrown));
}

export function inWords(code: string, message: string): string {
  const said = Object.hasOwn(SAID, code) ? SAID[code] : undefined;
  return said === undefined ? message : `${said}\n${message}`;
}

/** The line that is shown and announced. */
export const firstLine = (problem: string): string => problem.split('\n', 1)[0] ?? '';
