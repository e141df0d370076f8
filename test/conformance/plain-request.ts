import type { CaseRequest } from './conformance-case.ts';

/** A request as data that may cross into a page. */
export interface PlainRequest {
  path: string;
  method: string;
  headers: Record<string, string>;
  body: NonNullable<CaseRequest['body']> | null;
}

/** `keys`: by the names that cases use. */
export function toPlainRequest(request: CaseRequest, keys: Record<string, string>): PlainRequest {
  const { path, json, key = 'good' } = request;
  const headers: Record<string, string> = { ...request.headers };
  if (typeof key === 'object') headers['authorization'] = key.authorization;
  else if (key !== 'none') headers['authorization'] = `Bearer ${keys[key]}`;
  if (json !== undefined) headers['content-type'] = 'application/json';
  const body = json === undefined ? (request.body ?? null) : JSON.stringify(json);
  return { path, method: request.method ?? (body === null ? 'GET' : 'POST'), headers, body };
}

/** Options for `fetch`. Self-contained: a page is given its source. */
export function toRequestInit({ method, headers, body }: Omit<PlainRequest, 'path'>): RequestInit {
  const init: RequestInit = { method, headers };
  if (body === null) return init;
  if (typeof body === 'string') init.body = body;
  else if (Array.isArray(body)) init.body = new Uint8Array(body);
  else init.body = new Uint8Array(body.length).fill(body.byte);
  return init;
}
