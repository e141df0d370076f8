import { createServer } from 'node:http';

import { listen, stop } from '../listen.ts';
import type { TinyFiles } from './tiny-model.ts';

export interface ModelServer {
  url: string;
  close(): Promise<void>;
}

/** Serves models by name on loopback, for pages of another origin: `<url>/<model>/<file>`. */
export async function serveModels(models: Record<string, TinyFiles>): Promise<ModelServer> {
  const server = createServer((request, response) => {
    const [, name = '', ...file] = (request.url ?? '').split('/');
    const body = models[name]?.[file.join('/')];
    response.writeHead(body ? 200 : 404, {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
      'cross-origin-resource-policy': 'cross-origin',
    });
    response.end(request.method === 'OPTIONS' ? undefined : body);
  });
  return { url: await listen(server, 'localhost'), close: () => stop(server) };
}
