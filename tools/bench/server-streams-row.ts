import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright';

import { serverVariant } from '../../test/support/catalogs.ts';
import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import { PacedServer } from '../../test/support/paced-server.ts';
import { findRoot, peakTreeBytes, treeBytes, treeCpuMs } from '../../test/support/process-memory.ts';
import { growthRow } from './growth.ts';
import type { Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';

const SIZES = [1, 8, 64, 512];
/** Chromium has 256 streams at once on a connection, and one connection to a host over HTTP/2. */
const HOSTS = 3;
const PACE = { firstMs: 200, tokenMs: 500, tokens: 16 };
const MEGABYTE = 1e6;

interface Measured {
  /** Processor time of all the browser's processes. */
  cpuMs: number;
  megabytes: number;
}

/** Streams of servers at a fixed rate through /v1, read by one page: processor time and peak memory. */
export async function serverStreams({ site, rounds }: Stage): Promise<Row[]> {
  const profile = await tempFolder('bench');
  const servers = await startServers(profile);
  const context = await launch({ profile, extraArgs: [...NO_GPU, '--ignore-certificate-errors'] });
  try {
    const models = servers.map(({ url }, at) => ({
      id: `served-${at}`,
      kind: 'chat' as const,
      created: 1,
      variants: [serverVariant(`paced-${at}`, url)],
    }));
    // No engine: its worker is never there.
    const options = { catalog: { ownedBy: 'bench', models }, workerUrl: '/no-worker.js' };
    const { page } = await openPage(context, site.url, options);
    const key = await page.evaluate(async () => {
      const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e9, inFlight: 1000 };
      return (await (await window.localtext).keys.issue({ label: 'many', limits })).key;
    });
    const root = await findRoot(`--user-data-dir=${profile}`);
    const measure = (count: number) => measureOnce(page, root, count, key);
    await measure(8);
    const points = SIZES.map((x) => ({ x, measured: [] as Measured[] }));
    for (let round = 0; round < rounds; round++)
      for (const { x, measured } of points) measured.push(await measure(x));
    const valuesOf = (name: keyof Measured) =>
      points.map(({ x, measured }) => ({ x, values: measured.map((each) => each[name]) }));
    return [
      growthRow('growth: streams from a server, 1 to 512', valuesOf('cpuMs')),
      growthRow('growth: memory of streams from a server, 1 to 512', valuesOf('megabytes')),
    ];
  } finally {
    await context.close();
    for (const { close } of servers) close();
    await removeFolder(profile);
  }
}

async function measureOnce(page: Page, root: number, count: number, key: string): Promise<Measured> {
  await page.requestGC();
  const before = await treeBytes(root);
  const cpuBefore = await treeCpuMs(root);
  let came = 0;
  const read = async () => (came = await page.evaluate(readStreams, { hosts: HOSTS, count, key }));
  const peak = await peakTreeBytes(root, read());
  const cpuMs = (await treeCpuMs(root)) - cpuBefore;
  const tokens = count * PACE.tokens;
  if (came !== tokens) throw new Error(`${came} of ${tokens} tokens came`);
  return { cpuMs, megabytes: Math.max(1, peak - before) / MEGABYTE };
}

/** Resolves to the number of tokens. */
async function readStreams(given: { hosts: number; count: number; key: string }): Promise<number> {
  const { hosts, count, key } = given;
  let tokens = 0;
  const read = async (at: number): Promise<void> => {
    // Spread over the time between two tokens, as independent users are.
    await new Promise((resolve) => setTimeout(resolve, (at * 500) / count));
    const stream = await window.client(key).chat.completions.create({
      model: `served-${at % hosts}`,
      messages: [{ role: 'user', content: 'Count.' }],
      stream: true,
    });
    for await (const { choices } of stream) if (choices[0]?.delta.content) tokens++;
  };
  await Promise.all(Array.from({ length: count }, (_, at) => read(at)));
  return tokens;
}

async function startServers(folder: string): Promise<{ url: string; close(): void }[]> {
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = '-subj /CN=localhost -days 2 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1'.split(
    ' ',
  );
  execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', keyFile, '-out', certFile], {
    stdio: 'ignore',
  });
  const [key, cert] = await Promise.all([readFile(keyFile), readFile(certFile)]);
  return Promise.all(
    Array.from({ length: HOSTS }, async () => {
      const paced = new PacedServer(PACE, () => `${Date.now()} `);
      const server: Http2SecureServer = createSecureServer({ key, cert, allowHTTP1: true });
      server.on('request', paced.answer);
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const { port } = server.address() as AddressInfo;
      return { url: `https://127.0.0.1:${port}/v1`, close: () => server.close() };
    }),
  );
}
