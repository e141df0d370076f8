import type { Admitted, KeyStore } from '../service-dependencies.ts';
import { requestError, storageUnavailable, type ServiceError } from '../service-error.ts';

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
  if (authorization === null || authorization.trim() === '') throw invalidKey('The API key is missing.');
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined) throw invalidKey('The Authorization header is not a bearer token.');
  const admission = await keys.admit(token, purpose).catch(() => {
    throw storageUnavailable();
  });
  if (!admission.admitted) throw invalidKey(REASONS[admission.reason]);
  return admission;
}

const invalidKey = (reason: string): ServiceError =>
  requestError(
    401,
    `${reason} Send \`Authorization: Bearer lt_…\` with a key that the site’s administrator has issued.`,
    'invalid_api_key',
  );
