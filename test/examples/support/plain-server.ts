import { createServer } from 'node:http';

import sirv from 'sirv';

import type { RunningServer } from './vite-server.ts';

/** A static host that sends no headers of its own. */
export async function serveFolder(folder: string): Promise<RunningServer> {
  const files = sirv(folder, { dev: true, etag: true });
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
