import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import type { Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';

const COMPRESSED = /\.(js|mjs|css|html|json|wasm)$/;

/** What a visitor without anything stored downloads until the first token of a chat. */
export async function firstAnswer({ site, rounds }: Stage): Promise<Row> {
  const megabytes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const host = await compressingHost(site.url);
    const context = await launch({ extraArgs: NO_GPU });
    try {
      const { page, key } = await openPage(context, host.url);
      await page.evaluate(async (apiKey) => {
        const stream = await window.client(apiKey).chat.completions.create({
          model: 'amber-phoenix-4',
          messages: [{ role: 'user', content: 'Say hello.' }],
          stream: true,
        });
        for await (const { choices } of stream) if (choices[0]?.delta.content) break;
      }, key);
      megabytes.push(host.sent() / 1e6);
    } finally {
      await context.close();
      host.close();
    }
  }
  return {
    name: 'a first visit: bytes until the first token of a chat',
    unit: 'MB',
    values: megabytes,
    goal: { atMost: 105 },
  };
}

/** Stands before the site, compresses what hosts compress, and counts the bytes of all bodies. */
async function compressingHost(origin: string) {
  let sent = 0;
  const answer = async ({ url = '/', headers }: IncomingMessage, out: ServerResponse): Promise<void> => {
    const { range } = headers;
    const response = await fetch(origin + url, { headers: range === undefined ? {} : { range } });
    const kept = Object.fromEntries(response.headers);
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) delete kept[name];
    const whole = Buffer.from(await response.arrayBuffer());
    const compress = COMPRESSED.test(new URL(url, origin).pathname) && response.status === 200;
    const body = compress ? gzipSync(whole) : whole;
    sent += body.length;
    const encoding = compress ? { 'content-encoding': 'gzip' } : {};
    out.writeHead(response.status, { ...kept, ...encoding, 'content-length': body.length }).end(body);
  };
  const server = createServer((request, out) => void answer(request, out).catch(() => out.destroy()));
  await new Promise<void>((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
