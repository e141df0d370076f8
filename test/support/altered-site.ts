import {
  createServer,
  request,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { listen, stop } from './listen.ts';

export interface Alterations {
  /**
   * Keeps the headers for WASM threads. Default false: one thread a model, which two cores can share among three tabs.
   */
  isolated?: boolean;
  /** Answers in place of the site's files, by path. Given the file's text, null when there is no such file. */
  files?: Record<string, (text: string) => string>;
  /** Headers in place of the site's, by path. */
  headers?: (path: string) => Record<string, string>;
  /** Speed of weights, all connections together. */
  bytesPerSecond?: number;
}

const CHUNK = 64 * 1024;

/** The built site behind a server that alters it; what it alters may change while it runs. */
export class AlteredSite {
  readonly files = new Map<string, (text: string) => string>();
  /** Put before the engine worker's script. */
  workerPrefix = '';
  /** Paths with the range of each request that came, `/models/a 0-99`. */
  readonly asked: string[] = [];
  /** Answers in place of the site, by path. */
  readonly handlers = new Map<string, (asked: IncomingMessage, answer: ServerResponse) => void>();
  /** Speed of weights, all connections together. */
  bytesPerSecond: number;
  /** Bytes of weights that were sent so far. */
  sent = 0;
  /** Answers with weights that are not whole yet. */
  sending = 0;
  /** Time at which the connection is free again. */
  #free = 0;
  readonly #origin: string;
  readonly #isolated: boolean;
  readonly #headers: (path: string) => Record<string, string>;
  readonly #server: Server;
  url = '';

  private constructor(
    origin: string,
    { isolated = false, files = {}, headers: addHeaders, bytesPerSecond = Infinity }: Alterations,
  ) {
    this.#origin = origin;
    this.bytesPerSecond = bytesPerSecond;
    this.#isolated = isolated;
    this.#headers = addHeaders ?? (() => ({}));
    for (const [path, alter] of Object.entries(files)) this.files.set(path, alter);
    this.#server = createServer((asked, answer) => {
      const range = asked.headers.range?.replace('bytes=', ' ') ?? '';
      this.asked.push((asked.url ?? '/') + range);
      const handler = this.handlers.get(asked.url ?? '/');
      if (handler) {
        handler(asked, answer);
        return;
      }
      const headers: OutgoingHttpHeaders = { ...asked.headers, host: new URL(this.#origin).host };
      // Only plain text can be altered, and what is altered is not what the browser has kept.
      for (const name of ['accept-encoding', 'if-none-match', 'if-modified-since']) delete headers[name];
      const forward = request(
        this.#origin + (asked.url ?? '/'),
        { method: asked.method, headers },
        (response) => this.#answer(asked.url ?? '/', response, answer),
      );
      answer.on('close', () => forward.destroy());
      forward.on('error', () => answer.destroy());
      asked.pipe(forward);
    });
  }

  static async start(origin: string, alterations: Alterations = {}): Promise<AlteredSite> {
    const site = new AlteredSite(origin, alterations);
    site.url = await listen(site.#server, 'localhost');
    return site;
  }

  /** Serves these bytes in place of the site's file. */
  serve(path: string, body: Buffer | string): void {
    this.handlers.set(path, (_, answer) => answer.end(body));
  }

  stop(): Promise<void> {
    return stop(this.#server);
  }

  #alterationOf(path: string): ((text: string) => string) | undefined {
    const prefix = /\/worker-[\w-]+\.js$/.test(path) ? this.workerPrefix : '';
    return prefix === '' ? this.files.get(path) : (text) => prefix + text;
  }

  #answer(url: string, response: IncomingMessage, answer: ServerResponse): void {
    const headers: OutgoingHttpHeaders = { ...response.headers };
    if (!this.#isolated)
      for (const name of Object.keys(headers)) if (name.startsWith('cross-origin-')) delete headers[name];
    const { pathname } = new URL(url, this.#origin);
    Object.assign(headers, this.#headers(pathname));
    const alter = this.#alterationOf(pathname);
    if (!alter) {
      answer.writeHead(response.statusCode ?? 500, headers);
      if (pathname.startsWith('/models/')) this.#sendWeights(response, answer);
      else response.pipe(answer);
      return;
    }
    for (const name of ['content-length', 'content-encoding', 'etag']) delete headers[name];
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      const type = response.statusCode === 200 ? headers['content-type'] : 'text/javascript';
      answer.writeHead(200, { ...headers, 'content-type': type });
      answer.end(alter(Buffer.concat(chunks).toString()));
    });
  }

  #sendWeights(response: IncomingMessage, answer: ServerResponse): void {
    this.sending++;
    answer.on('close', () => this.sending--);
    pipeline(this.#slowed(response), answer).catch(() => answer.destroy());
  }

  async *#slowed(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const bytes of body) {
      for (let from = 0; from < bytes.length; from += CHUNK) {
        const piece = bytes.subarray(from, from + CHUNK);
        const now = Date.now();
        const start = Math.max(now, this.#free);
        this.#free = start + (piece.length * 1000) / this.bytesPerSecond;
        if (start > now) await sleep(start - now);
        this.sent += piece.length;
        yield piece;
      }
    }
  }
}
