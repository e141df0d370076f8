import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { TinyFiles } from './tiny-model.ts';

export interface ModelServer {
  url: string;
  close(): void;
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
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
