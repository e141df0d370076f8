import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { listen } from './listen.ts';

/** One pixel. */
const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const FILES: Record<string, [type: string, body: Buffer | string]> = {
  '/image.png': ['image/png', IMAGE],
  '/part.js': ['text/javascript', 'self.part = "imported";'],
  '/frame.html': [
    'text/html',
    `<!doctype html><title>another origin</title><script>parent.postMessage('framed', '*')</script>`,
  ],
};

/** What sites embed: a server of another origin that sends no headers for isolated pages. */
export class OtherOrigin {
  url = '';
  readonly #server: Server = createServer((asked, answer) => this.#answer(asked, answer));

  static async start(): Promise<OtherOrigin> {
    const other = new OtherOrigin();
    other.url = await listen(other.#server, 'localhost');
    return other;
  }

  /** `/private/…` is for visitors with a cookie; browsers send it to every port of the host. */
  #answer({ url = '/', headers }: IncomingMessage, answer: ServerResponse): void {
    const isPrivate = url.startsWith('/private/');
    const file = FILES[url.replace('/private', '')];
    if (!file) answer.writeHead(404).end('none');
    else if (isPrivate && !headers.cookie?.includes('visitor=')) answer.writeHead(403).end('who?');
    else answer.writeHead(200, { 'content-type': file[0], 'cache-control': 'no-store' }).end(file[1]);
  }
}
