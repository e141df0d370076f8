import { resolve } from 'node:path';

import sirv from 'sirv';
import type { Connect } from 'vite';

export const notFound: Connect.NextHandleFunction = (_request, response) => {
  response.statusCode = 404;
  response.end('not found');
};

/** sirv serves folders; a folder of one file is its parent, asked for that name. */
export function serveFile(path: string): Connect.NextHandleFunction {
  const folder = sirv(resolve(path, '..'), { dev: true, etag: true });
  const url = `/${path.split(/[\\/]/).at(-1)}`;
  return (request, response, next) => {
    request.url = url;
    folder(request, response, next);
  };
}

export function serveScript(script: () => Promise<string>): Connect.NextHandleFunction {
  return async (_request, response, next) => {
    try {
      const code = await script();
      response.setHeader('Content-Type', 'text/javascript');
      response.setHeader('Cache-Control', 'no-cache');
      response.end(code);
    } catch (error) {
      next(error);
    }
  };
}
