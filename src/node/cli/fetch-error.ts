import { messageOf } from '#base';

/** Why a `fetch()` failed: undici reports only "fetch failed", and the reason is in the cause. */
export function describeFetchError(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  if (!(cause instanceof Error)) return messageOf(error);
  if ('code' in cause) return `${messageOf(error)}: ${String(cause.code)}`;
  // Status 407 is the only failure for which undici gives no reason.
  return cause.message || 'the server, or a proxy, asks for a sign-in (407)';
}
