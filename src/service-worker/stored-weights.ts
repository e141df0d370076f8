import { scopeOf } from '#protocol';
import { findStored } from '#weights';

declare const self: ServiceWorkerGlobalScope;

/**
 * Whether a script fetches a file of `models/` below this scope. The store's own downloads, which bypass
 * stored copies, do not count.
 */
export const asksForWeights = ({ method, url, cache, destination }: Request): boolean =>
  method === 'GET' && !destination && cache !== 'no-store' && pathBelow(url) !== null;

function pathBelow(url: string): string | null {
  const folder = new URL('models/', self.registration.scope).href;
  const bare = url.replace(/[?#].*/, '');
  return bare.startsWith(folder) && bare.length > folder.length ? bare.slice(folder.length) : null;
}

/** Answers with the stored file or a part of it; from the network if it is not completely stored. */
export async function respondStored(request: Request): Promise<Response> {
  const stored = await find(request.url).catch(() => null);
  if (!stored) return fetch(request);
  const { blob, sha256 } = stored;
  const headers = new Headers({
    'accept-ranges': 'bytes',
    'content-type': request.url.endsWith('.json') ? 'application/json' : 'application/octet-stream',
    'cross-origin-resource-policy': 'same-origin',
    etag: `"${sha256}"`,
  });
  if (namesTag(request.headers.get('if-none-match'), sha256))
    return new Response(null, { status: 304, headers });
  const condition = request.headers.get('if-range');
  const wanted =
    condition === null || condition === headers.get('etag') ? request.headers.get('range') : null;
  const range = wanted === null ? null : readRange(wanted, blob.size);
  if (range === 'unsatisfiable') {
    headers.set('content-range', `bytes */${blob.size}`);
    return new Response(null, { status: 416, headers });
  }
  const [from, to] = range ?? [0, blob.size];
  headers.set('content-length', String(to - from));
  if (range) headers.set('content-range', `bytes ${from}-${to - 1}/${blob.size}`);
  return new Response(blob.slice(from, to), { status: range ? 206 : 200, headers });
}

const find = async (url: string): Promise<Awaited<ReturnType<typeof findStored>>> =>
  findStored(scopeOf(self.registration.scope), decodeURIComponent(pathBelow(url) ?? ''));

/** Whether an `If-None-Match` header names the tag: weak ones match too, and `*` any. */
const namesTag = (header: string | null, tag: string): boolean =>
  (header ?? '').split(',').some((each) => ['*', `"${tag}"`].includes(each.trim().replace(/^W\//, '')));

/**
 * First byte, and the byte after the last; null: a form that may be ignored (several ranges, other units).
 */
function readRange(header: string, size: number): [number, number] | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === '' && last === '') return null;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
  return from < to ? [from, to] : 'unsatisfiable';
}
