import { createServer } from 'node:http';

import type { Page } from 'playwright';

import { listen } from './listen.ts';

/** Hands requests of programs outside the browser to a page's /v1, and its whole answers back. @returns the origin for them */
export async function bridge(page: Page): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const sent = ['authorization', 'content-type', 'accept'].flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    try {
      const chunks: Buffer[] = [];
      // A client may leave meanwhile.
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await page.evaluate(
        async ([verb, path, pairs, base64]) => {
          const body = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          const init = { method: verb, headers: pairs, ...(body.length > 0 && { body }) };
          const reply = await fetch(path, init);
          return {
            status: reply.status,
            type: reply.headers.get('content-type') ?? '',
            text: await reply.text(),
          };
        },
        [method, url, sent, Buffer.concat(chunks).toString('base64')] as const,
      );
      response.writeHead(answer.status, { 'content-type': answer.type });
      response.end(answer.text);
    } catch (error) {
      response.writeHead(502);
      response.end(String(error));
    }
  });
  return listen(server);
}
