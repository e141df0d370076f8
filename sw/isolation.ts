/**
 * Makes pages cross-origin isolated where the host cannot send the headers: WASM threads need it. A worker's script
 * needs them too, or an isolated page may not start it.
 */
export function addIsolationHeaders(response: Response): Response {
  // A redirect of a navigation, or another origin's answer, is opaque: it can only be passed on as it is.
  if (response.status === 0 || response.headers.has('cross-origin-embedder-policy')) return response;
  const headers = new Headers(response.headers);
  headers.set('cross-origin-opener-policy', 'same-origin');
  headers.set('cross-origin-embedder-policy', 'require-corp');
  headers.set('cross-origin-resource-policy', 'same-origin');
  const { status, statusText } = response;
  const body = [101, 204, 205, 304].includes(status) ? null : response.body;
  return new Response(body, { status, statusText, headers });
}

/** Whether the headers of this request's answer decide on isolation. */
export function decidesIsolation(request: Request): boolean {
  return ['document', 'iframe', 'worker', 'sharedworker'].includes(request.destination);
}
