import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Page } from 'playwright';

/** Hands requests of programs outside the browser to a page's /v1, and its whole answers back. */
export async function bridge(page: Page): Promise<{ url: string; close(): void }> {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
