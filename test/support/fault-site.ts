import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { answerFile, type Behaviour } from './answer-file.ts';

/** The built site behind a server that serves one weight file itself, with faults, and counts what it sends of it. */
export class FaultSite {
  /** What differs from a sound server in the n-th answer, the first being 0. */
  fault: (answer: number) => Partial<Behaviour> = () => ({});
  /** Ranges of the file that were asked for. */
  asked: string[] = [];
  /** Paths of other weight files that were asked for. */
  others: string[] = [];
  /** Bytes of the file's answers. */
  sent = 0;
  /** Put before the engine worker's script. */
  workerPrefix = '';
  readonly #origin: string;
  readonly #path: string;
  readonly #body: Buffer;
  readonly #server: Server;

  private constructor(origin: string, path: string, body: Buffer) {
    this.#origin = origin;
    this.#path = path;
    this.#body = body;
    this.#server = createServer((asked, answer) => {
      if (asked.url === this.#path) void this.#serve(asked, answer);
      else this.#pass(asked, answer);
    });
  }

  static async start(origin: string, path: string, body: Buffer): Promise<FaultSite> {
    const site = new FaultSite(origin, path, body);
    await new Promise<void>((resolve) => {
      site.#server.listen(0, 'localhost', resolve);
    });
    return site;
  }

  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Counts from 0 again, with this fault from now on. */
  reset(fault: FaultSite['fault'] = () => ({})): void {
    this.fault = fault;
    this.asked = [];
    this.others = [];
    this.sent = 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const behaviour = { body: this.#body, etag: '"1"', ...this.fault(this.asked.length) };
    this.asked.push(asked.headers.range ?? 'whole');
    const bytes = await answerFile(asked, answer, behaviour);
    this.sent += bytes;
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    const url = asked.url ?? '/';
    if (url.startsWith('/models/') && url !== '/models/manifest.json') this.others.push(url);
    const prefix = /\/worker-[\w-]+\.js$/.test(url) ? this.workerPrefix : '';
    const headers = { ...asked.headers, host: new URL(this.#origin).host };
    // Text can be put before plain text alone.
    if (prefix) delete headers['accept-encoding'];
    const options = { method: asked.method, headers };
    const forward = request(this.#origin + url, options, (response) => {
      const { 'content-length': length, ...rest } = response.headers;
      answer.writeHead(response.statusCode ?? 500, prefix ? rest : response.headers);
      if (prefix && length !== '0' && response.statusCode === 200) answer.write(prefix);
      response.pipe(answer);
    });
    forward.on('error', () => answer.destroy());
    asked.pipe(forward);
  }
}
