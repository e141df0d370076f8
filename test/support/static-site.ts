import { createServer } from 'node:net';
import { preview, type PreviewServer } from 'vite';

import { atEnd } from './at-end.ts';

/** A built site on a static server that can go away and come back at the same address. */
export class StaticSite {
  readonly port: number;
  readonly #mode: string;
  #server: PreviewServer | null = null;

  private constructor(port: number, mode: string) {
    this.port = port;
    this.#mode = mode;
  }

  /** localhost: browsers take it for secure without https. */
  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** @param mode of its build: the test site, or with `production` the playground as it is published */
  static async start(mode = 'browser-tests'): Promise<StaticSite> {
    const site = new StaticSite(await freePort(), mode);
    await site.start();
    atEnd(() => site.stop());
    return site;
  }

  async start(): Promise<void> {
    this.#server ??= await preview({
      mode: this.#mode,
      logLevel: 'warn',
      preview: { port: this.port, strictPort: true, host: 'localhost' },
    });
  }

  /** Open connections are cut. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = server.close();
    if ('closeAllConnections' in server.httpServer) server.httpServer.closeAllConnections();
    await closed;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, 'localhost', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}
