import { createServer, type Server } from 'node:http';
import { listen, stop } from '../../support/listen.ts';

/** A model hub on this machine: serves files by path with Range, and can be told to misbehave. */
export class HubDouble {
  readonly files = new Map<string, Buffer>();
  /** What was asked for, with the range: `GET /a/b bytes=5-`. */
  readonly requests: string[] = [];
  /** Bodies are cut after as many bytes, one entry a request. */
  readonly cuts: number[] = [];
  /** Bodies stop after as many bytes, and their connections stay open: one entry a request. */
  readonly stalls: number[] = [];
  /** Answers that a proxy gives in place of the hub, one entry a request for a file. */
  readonly proxied: { type?: string; body: string }[] = [];
  ranges = true;
  url = '';
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const range = request.headers.range;
      this.requests.push([request.method, request.url, range].filter(Boolean).join(' '));
      if (request.method === 'HEAD') return response.end();
      const page = this.proxied.shift();
      if (page) return response.writeHead(200, page.type ? { 'content-type': page.type } : {}).end(page.body);
      const content = this.files.get(request.url ?? '');
      if (content === undefined) return response.writeHead(404).end();
      const start = this.ranges ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
      const body = content.subarray(start);
      response.writeHead(start > 0 ? 206 : 200, { 'content-length': body.length });
      const stall = this.stalls.shift();
      if (stall !== undefined) return response.write(body.subarray(0, stall));
      const cut = this.cuts.shift();
      if (cut === undefined) return response.end(body);
      // What was written arrives before the end.
      return response.write(body.subarray(0, cut), () => response.socket?.end());
    });
  }

  static async start(): Promise<HubDouble> {
    const hub = new HubDouble();
    hub.url = await listen(hub.#server);
    return hub;
  }

  stop(): Promise<void> {
    return stop(this.#server);
  }
}
