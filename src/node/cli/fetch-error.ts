import { messageOf } from '#base';

/** Why a `fetch()` failed: undici reports only "fetch failed", and the reason is in the cause. */
export function describeFetchError(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  if (!(cause instanceof Error)) return messageOf(error);
  return 'code' in cause ? `${messageOf(error)}: ${String(cause.code)}` : cause.message;
}
