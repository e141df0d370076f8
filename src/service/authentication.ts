import type { Admitted, KeyStore } from './service-dependencies.ts';
import { invalidKey } from './service-error.ts';

const WHERE = 'Send `Authorization: Bearer lt_…` with a key that the site’s administrator has issued.';

const REASONS = {
  malformed: 'The API key is not whole: it is mistyped or cut off.',
  unknown: 'The API key is not known here.',
  revoked: 'The API key has been revoked.',
  expired: 'The API key has expired.',
};

/** @throws ServiceError 401 */
export async function authenticate(
  authorization: string | null,
  keys: KeyStore,
  purpose: 'chat' | 'other',
): Promise<Admitted> {
  if (authorization === null || authorization.trim() === '')
    throw invalidKey(`The API key is missing. ${WHERE}`);
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined) throw invalidKey(`The Authorization header is not a bearer token. ${WHERE}`);
  const admission = await keys.admit(token, purpose);
  if (!admission.admitted) throw invalidKey(`${REASONS[admission.reason]} ${WHERE}`);
  return admission;
}
