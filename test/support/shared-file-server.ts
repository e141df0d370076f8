import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Keeps the bytes of `navigator.crossOriginStorage` for all origins of a test: `shareStorage()` talks to it. */
export class SharedFileServer {
  /** Files by their SHA-256. A test may change or delete them. */
  readonly files = new Map<string, Buffer>();
  /** Methods and hashes, in their order. */
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const hash = (request.url ?? '').slice(1);
      const headers = { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET, PUT' };
      if (request.method === 'OPTIONS') return void response.writeHead(204, headers).end();
      this.asked.push(`${request.method} ${hash}`);
      if (request.method === 'PUT') {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          this.files.set(hash, Buffer.concat(parts));
          response.writeHead(204, headers).end();
        });
        return;
      }
      const bytes = this.files.get(hash);
      response.writeHead(bytes ? 200 : 404, headers).end(bytes);
    });
  }

  static async start(): Promise<SharedFileServer> {
    const server = new SharedFileServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/**
 * Script for `addInitScript()`: gives pages, not workers, the storage as its explainer describes it, as the extension
 * does.
 */
export function shareStorage(url: string): void {
  const fail = (name: string): never => {
    throw new DOMException(name, name);
  };
  const requestFileHandle = async (
    { algorithm, value }: { algorithm: string; value: string },
    { create = false, origins }: { create?: boolean; origins?: string } = {},
  ): Promise<object> => {
    if (algorithm !== 'SHA-256' || !/^[0-9a-f]{64}$/.test(value)) throw new TypeError('malformed hash');
    if (create) {
      if (origins !== '*') fail('NotSupportedError');
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const close = async (): Promise<void> => {
        const body = new Blob(parts);
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await body.arrayBuffer()));
        const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
        if (hex !== value) fail('DataError');
        await fetch(`${url}/${value}`, { method: 'PUT', body });
      };
      const createWritable = async () =>
        new WritableStream<Uint8Array>({ write: (part) => void parts.push(new Uint8Array(part)), close });
      return { getFile: async () => fail('NotAllowedError'), createWritable };
    }
    const response = await fetch(`${url}/${value}`);
    if (!response.ok) fail('NotFoundError');
    return { getFile: () => response.blob(), createWritable: async () => fail('NotAllowedError') };
  };
  Object.defineProperty(navigator, 'crossOriginStorage', { value: { requestFileHandle } });
}
