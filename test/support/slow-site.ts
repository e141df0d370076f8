import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { atEnd } from './at-end.ts';

import { freePort } from './static-site.ts';

const CHUNK = 64 * 1024;

/** A site's answers at its own origin, where weights come no faster than told, and are counted. */
export class SlowSite {
  readonly url: string;
  /** Bytes of weights that were sent so far. */
  sent = 0;
  /** Answers with weights that are not whole yet. */
  sending = 0;
  /** Speed of weights over all connections together. */
  bytesPerSecond: number;
  readonly #server: Server;
  /** Time at which the connection is free again. */
  #free = 0;

  private constructor(server: Server, port: number, bytesPerSecond: number) {
    this.#server = server;
    this.url = `http://localhost:${port}`;
    this.bytesPerSecond = bytesPerSecond;
  }

  static async start(origin: string, bytesPerSecond: number): Promise<SlowSite> {
    const port = await freePort();
    const server = createServer((request, response) => {
      site.#pass(origin, request, response).catch(() => response.destroy());
    });
    const site = new SlowSite(server, port, bytesPerSecond);
    await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
    atEnd(() => site.stop());
    return site;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #pass(origin: string, { url = '/', headers }: IncomingMessage, out: ServerResponse): Promise<void> {
    const left = new AbortController();
    const isWeights = url.startsWith('/models/');
    if (isWeights) this.sending++;
    out.on('close', () => {
      left.abort();
      if (isWeights) this.sending--;
    });
    const { range } = headers;
    const answer = await fetch(origin + url, {
      headers: { 'accept-encoding': 'identity', ...(range !== undefined && { range }) },
      signal: left.signal,
    });
    out.writeHead(answer.status, Object.fromEntries(answer.headers));
    const body: AsyncIterable<Uint8Array> = answer.body ?? Readable.from([]);
    await pipeline(isWeights ? this.#slowed(body) : body, out);
  }

  async *#slowed(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const bytes of body) {
      for (let from = 0; from < bytes.length; from += CHUNK) {
        const piece = bytes.subarray(from, from + CHUNK);
        await this.#wait(piece.length);
        this.sent += piece.length;
        yield piece;
      }
    }
  }

  async #wait(bytes: number): Promise<void> {
    const now = Date.now();
    const start = Math.max(now, this.#free);
    this.#free = start + (bytes * 1000) / this.bytesPerSecond;
    if (start > now) await sleep(start - now);
  }
}
