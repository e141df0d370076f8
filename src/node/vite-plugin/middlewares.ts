import { resolve } from 'node:path';

import sirv from 'sirv';
import type { Connect } from 'vite';

import { isV1Path } from '#base';

/**
 * Sets a long cache lifetime for files with a hash in their name. All others keep the static server's
 * `no-cache` with an ETag.
 * @param hashed paths of the folders with such files
 */
export const cacheFor =
  (hashed: readonly string[]): Connect.NextHandleFunction =>
  (request, response, next) => {
    if (hashed.some((folder) => request.url?.startsWith(folder)))
      response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    next();
  };

/**
 * Serves the files of a folder, and 404 for files that it lacks: a page in their place would be taken for
 * weights.
 * @param path ends in a slash. As a route, connect would take `/models.html` for a file of `/models`
 */
export function serveFolder(path: string, folder: string): Connect.NextHandleFunction {
  const files = sirv(folder, { dev: true, etag: true });
  return (request, response, next) => {
    const { url = '' } = request;
    // The site may have a page there.
    if (!url.startsWith(path) || /^(\?|$)/.test(url.slice(path.length))) return next();
    request.url = url.slice(path.length - 1);
    files(request, response);
  };
}

/**
 * Serves one file. sirv serves only folders: it serves the file's folder, and the URL is set to the file's
 * name.
 */
export function serveFile(path: string): Connect.NextHandleFunction {
  const folder = sirv(resolve(path, '..'), { dev: true, etag: true });
  const url = `/${path.split(/[\\/]/).at(-1)}`;
  return (request, response, next) => {
    request.url = url;
    folder(request, response, next);
  };
}

export const serveScript =
  (script: () => Promise<string>): Connect.NextHandleFunction =>
  async (_request, response, next) => {
    try {
      const code = await script();
      response.setHeader('Content-Type', 'text/javascript');
      response.setHeader('Cache-Control', 'no-cache');
      response.end(code);
    } catch (error) {
      next(error);
    }
  };

/**
 * Sends the header without which an isolated page cannot start a worker. Some frameworks' dev servers serve
 * scripts outside the site's base, where the service worker cannot add it.
 */
export const isolateWorkers: Connect.NextHandleFunction = (request, response, next) => {
  if (request.headers['sec-fetch-dest'] === 'worker')
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
  next();
};

/**
 * Answers requests to `/v1` that bypassed the service worker. Returns JSON, not the SPA page, so that clients
 * report this message.
 */
export const apiHint: Connect.NextHandleFunction = (request, response, next) => {
  // `new URL()` throws for a path such as `//`.
  if (!isV1Path((request.url ?? '').replace(/[?#].*/, ''))) return next();
  const message =
    'This is the static server, which runs no models: /v1 is answered by the service worker, inside a page that has awaited start().';
  response.statusCode = 404;
  response.setHeader('Content-Type', 'application/json');
  response.end(
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  );
};
