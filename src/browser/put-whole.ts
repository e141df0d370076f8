/**
 * Stores a body in a cache, and reads it back: on a full storage Firefox may store an empty or a cut body without an
 * error. Another tab may store another body of this key meanwhile.
 * @throws an error that `isQuotaError()` detects, if the storage is full
 */
export async function putWhole(
  cache: Cache,
  key: string | Request,
  body: Uint8Array<ArrayBuffer>,
  headers = new Headers(),
): Promise<void> {
  headers.set('content-length', String(body.length));
  await cache.put(key, new Response(body, { headers }));
  const kept = await cache.match(key);
  const blob = await kept?.blob().catch(() => null);
  const size = blob?.size ?? -1;
  if (size === body.length || kept?.headers.get('content-length') === String(size)) return;
  await cache.delete(key);
  throw new DOMException('The storage is full.', 'QuotaExceededError');
}
