import type { Admitted, KeyStore } from '../service-dependencies.ts';
import { invalidKey, ServiceError } from '../service-error.ts';

const WHERE = 'Send `Authorization: Bearer lt_…` with a key that the site’s administrator has issued.';

const REASONS = {
  malformed: 'Malformed API key (checksum mismatch). It may be truncated or mistyped.',
  unknown: 'Unknown API key.',
  revoked: 'The API key has been revoked.',
  expired: 'The API key has expired.',
};

/** @throws ServiceError 401; 500 when the keys cannot be read. */
export async function authenticate(
  authorization: string | null,
  keys: KeyStore,
  purpose: 'chat' | 'other',
): Promise<Admitted> {
  if (authorization === null || authorization.trim() === '')
    throw invalidKey(`The API key is missing. ${WHERE}`);
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined) throw invalidKey(`The Authorization header is not a bearer token. ${WHERE}`);
  const admission = await keys.admit(token, purpose).catch(() => {
    throw storageUnavailable();
  });
  if (!admission.admitted) throw invalidKey(`${REASONS[admission.reason]} ${WHERE}`);
  return admission;
}

/** Private windows and full disks: the browser's own error says things that no client should see. */
export function storageUnavailable(): ServiceError {
  return new ServiceError({
    status: 500,
    type: 'server_error',
    code: 'storage_unavailable',
    param: null,
    message:
      'The key store of this browser cannot be read. Free disk space, or leave private browsing, and reload.',
  });
}
