import type { Connect } from 'vite';

/**
 * What reaches the static server below /v1 went past the service worker. Without this, a client would be shown a page of
 * HTML, and complain of its JSON.
 */
export const apiHint: Connect.NextHandleFunction = (request, response, next) => {
  if (!request.url?.startsWith('/v1/')) return next();
  const message =
    'This is the static server, which runs no models: /v1 is answered by the service worker, inside a page that has started localtext.';
  response.statusCode = 404;
  response.setHeader('Content-Type', 'application/json');
  response.end(
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  );
};
