import { createServer, type ServerResponse } from 'node:http';

import sirv from 'sirv';

import type { RunningServer } from './vite-server.ts';
import { listen, stop } from '../../support/listen.ts';

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
  return { url: await listen(server, 'localhost'), stop: () => stop(server) };
}
