import { PROTOCOL_HEADER } from '../protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { WireError } from '../errors/wire-error.ts';
import { LocaltextError } from './localtext-error.ts';

/** Asks the service worker for one of the paths that it answers for the page library alone. */
export function fetchLocal(
  path: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const headers = { ...init.headers, [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
  return fetch(path, { ...init, headers, mode: 'same-origin' });
}

/** What an answer that is not ok means: the service worker's error, or that a host answered in its place. */
export async function toError(response: Response): Promise<LocaltextError> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: WireError };
  if (error?.message) return fromWire(error);
  return new LocaltextError(
    'service_worker_no_control',
    `${response.url} answered ${response.status}: the service worker does not control this page. Reload it.`,
  );
}

export const fromWire = ({ code, message }: WireError): LocaltextError =>
  new LocaltextError(code ?? 'server_error', message);
