import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { atEnd } from './at-end.ts';

/** Has a server listen on a free port of this machine until the file's tests have ended. @returns its origin */
export async function listen(server: Server, host: '127.0.0.1' | 'localhost' = '127.0.0.1'): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  atEnd(() => stop(server));
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

/** Open connections are cut. */
export async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
