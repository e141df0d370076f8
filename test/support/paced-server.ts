import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { listen, stop } from './listen.ts';

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type',
};

export interface Pace {
  firstMs: number;
  tokenMs: number;
  tokens: number;
}

/** An OpenAI-compatible server that gives the tokens `0 1 2 …`, or others, at a fixed rate. */
export class PacedServer {
  pace: Pace;
  /** Number of requests of any kind. */
  requests = 0;
  /** Replies under way. */
  open = 0;
  /** Replies whose client left before their end. */
  left = 0;
  /** `Authorization` of the last request for a reply. */
  authorization: string | undefined;
  readonly #token: (index: number) => string;
  readonly #server = createServer((request, response) => this.answer(request, response));

  constructor(pace: Pace, token = (index: number) => `${index} `) {
    this.pace = pace;
    this.#token = token;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async start(): Promise<void> {
    await listen(this.#server);
  }

  stop(): Promise<void> {
    return stop(this.#server);
  }

  readonly answer = (
    request: IncomingMessage | Http2ServerRequest,
    answer: ServerResponse | Http2ServerResponse,
  ): void => {
    // Of HTTP/2 as of HTTP/1.1, as far as it is used here.
    const response = answer as ServerResponse;
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
    this.requests++;
    request.resume();
    if (request.method !== 'POST') return void response.end('{"object":"list","data":[]}');
    this.authorization = request.headers.authorization;
    this.open++;
    const { firstMs, tokenMs, tokens } = this.pace;
    let given = 0;
    let timer: ReturnType<typeof setTimeout>;
    const send = (delta: object, finish_reason: string | null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const next = (): void => {
      send({ content: this.#token(given++) }, null);
      if (given < tokens) timer = setTimeout(next, tokenMs);
      else {
        send({}, 'stop');
        response.end('data: [DONE]\n\n');
      }
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send({ role: 'assistant' }, null);
    timer = setTimeout(next, firstMs);
    response.on('close', () => {
      clearTimeout(timer);
      this.open--;
      if (!response.writableEnded) this.left++;
    });
  };
}
