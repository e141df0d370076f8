import { createServer, type ServerResponse } from 'node:http';

import sirv from 'sirv';

import type { RunningServer } from './vite-server.ts';

/** A static host that sends no headers but those given. */
export async function serveFolder(
  folder: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const setHeaders = (response: ServerResponse): void => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  };
  const files = sirv(folder, { dev: true, etag: true, setHeaders });
  const server = createServer((request, response) => {
    files(request, response, () => void response.writeHead(404).end('not found'));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no address');
  return {
    url: `http://localhost:${address.port}`,
    async stop() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
