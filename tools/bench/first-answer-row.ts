import { gzipSync } from 'node:zlib';

import { AlteredSite } from '../../test/support/altered-site.ts';
import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import type { Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';

const COMPRESSED = /\.(js|mjs|css|html|json|wasm)$/;

/** What a visitor without anything stored downloads until the first token of a chat. */
export async function firstAnswer({ site, rounds }: Stage): Promise<Row> {
  const megabytes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const host = await AlteredSite.start(site.url, { isolated: true });
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
      megabytes.push((await bytesOf(site.url, host.asked)) / 1e6);
    } finally {
      await context.close();
      await host.stop();
    }
  }
  return {
    name: 'a first visit: bytes until the first token of a chat',
    unit: 'MB',
    values: megabytes,
    goal: { atMost: 105 },
  };
}

/** Bytes of the answers to requests (`/path 0-99`), compressed as hosts do. */
async function bytesOf(origin: string, requests: readonly string[]): Promise<number> {
  const sizes = requests.map(async (request) => {
    const [path = '', range] = request.split(' ');
    const response = await fetch(
      origin + path,
      range === undefined ? {} : { headers: { range: `bytes=${range}` } },
    );
    const body = Buffer.from(await response.arrayBuffer());
    const isCompressed = COMPRESSED.test(new URL(path, origin).pathname) && response.status === 200;
    return isCompressed ? gzipSync(body).length : body.length;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
