import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright';

import type { Catalog, UpstreamVariant } from '../../src/catalog/catalog.ts';
import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import { PacedServer } from '../../test/support/paced-server.ts';
import { findRoot, peakTreeBytes, treeBytes, treeCpuMs } from '../../test/support/process-memory.ts';
import { growthRow } from './growth.ts';
import { differences, type Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';

const SIZES = [1, 8, 64, 512];
/** Chromium has 256 streams at once on a connection, and one connection to a host over HTTP/2. */
const HOSTS = 3;
const PACE = { firstMs: 200, tokenMs: 500, tokens: 16 };
const MEGABYTE = 1e6;

interface Measured {
  /** CPU time of all the browser's processes for each token. */
  cpuMs: number;
  /** Time from the server's token to the page's. */
  delayMs: number;
  megabytes: number;
}

/** Streams of servers at a fixed rate, through /v1 and by the page's own `fetch` in turn. */
export async function serverStreams({ site, rounds }: Stage): Promise<Row[]> {
  const profile = await tempFolder('bench');
  const servers = await startServers(profile);
  const context = await launch({ profile, extraArgs: [...NO_GPU, '--ignore-certificate-errors'] });
  try {
    const catalog = catalogOf(servers.map(({ url }) => url));
    // No engine: its worker is never there.
    const options = encodeURIComponent(JSON.stringify({ catalog, workerUrl: '/no-worker.js' }));
    const { page } = await openPage(context, site.url, `/test-page.html?options=${options}`);
    const key = await page.evaluate(async () => {
      const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e9, inFlight: 1000 };
      return (await (await window.localtext).keys.issue({ label: 'many', limits })).key;
    });
    const root = await findRoot(`--user-data-dir=${profile}`);
    const urls = servers.map(({ url }) => url);
    const measure = (count: number, bearer: string | null) => measureOnce(page, root, urls, count, bearer);
    await measure(8, key);
    await measure(8, null);
    const ours = SIZES.map(() => [] as Measured[]);
    const direct = SIZES.map(() => [] as Measured[]);
    for (let round = 0; round < rounds; round++)
      for (const [at, count] of SIZES.entries()) {
        ours[at]?.push(await measure(count, key));
        direct[at]?.push(await measure(count, null));
      }
    return rowsOf(ours, direct);
  } finally {
    await context.close();
    for (const { close } of servers) close();
    await removeFolder(profile);
  }
}

function rowsOf(ours: Measured[][], direct: Measured[][]): Row[] {
  const of = (all: Measured[][], at: number, name: keyof Measured) =>
    (all[at] ?? []).map((measured) => measured[name]);
  const detail = (name: keyof Measured, unit: string) =>
    Object.fromEntries(
      SIZES.flatMap((count, at) => [
        [`${count} through /v1, ${unit}`, of(ours, at, name)],
        [`${count} by fetch, ${unit}`, of(direct, at, name)],
      ]),
    );
  const points = (value: (measured: Measured, count: number) => number) =>
    SIZES.map((x, at) => ({ x, values: (ours[at] ?? []).map((measured) => value(measured, x)) }));
  const at = SIZES.indexOf(64);
  const how = `${SIZES.join(', ')} streams of ${PACE.tokens} tokens each, one every ${PACE.tokenMs} ms, from ${HOSTS} servers over HTTP/2, read by one page.`;
  return [
    {
      name: 'a token of a server, 64 streams: processor time through /v1 − by fetch',
      measures: `${how} The time of all browser processes.`,
      unit: 'ms',
      values: differences(of(ours, at, 'cpuMs'), of(direct, at, 'cpuMs')),
      detail: detail('cpuMs', 'ms'),
    },
    {
      name: 'a token of a server, 64 streams: delay through /v1 − by fetch',
      measures:
        'In the same run: the median time from when the server writes a token until the page has read it.',
      unit: 'ms',
      values: differences(of(ours, at, 'delayMs'), of(direct, at, 'delayMs')),
      detail: detail('delayMs', 'ms'),
    },
    growthRow(
      'growth: streams from a server, 1 to 512',
      "In the same run: the processor time of all of the browser's processes through /v1.",
      {
        x: 'streams',
        y: 'processor time, ms',
        points: points(({ cpuMs }, count) => cpuMs * count * PACE.tokens),
      },
    ),
    {
      ...growthRow(
        'growth: memory of streams from a server, 1 to 512',
        'In the same run: the peak of all of the browser’s processes while the streams run through /v1, over what they had before.',
        { x: 'streams', y: 'memory, MB', points: points(({ megabytes }) => megabytes) },
      ),
      detail: detail('megabytes', 'MB'),
    },
  ];
}

async function measureOnce(
  page: Page,
  root: number,
  urls: string[],
  count: number,
  key: string | null,
): Promise<Measured> {
  await page.requestGC();
  const before = await treeBytes(root);
  const cpuBefore = await treeCpuMs(root);
  let delays: number[] = [];
  const read = async () => (delays = await page.evaluate(readStreams, { urls, count, key }));
  const peak = await peakTreeBytes(root, read());
  const cpu = (await treeCpuMs(root)) - cpuBefore;
  const tokens = count * PACE.tokens;
  if (delays.length !== tokens) throw new Error(`${delays.length} of ${tokens} tokens came`);
  return {
    cpuMs: cpu / tokens,
    delayMs: delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] ?? Number.NaN,
    megabytes: Math.max(1, peak - before) / MEGABYTE,
  };
}

/** Each token is the time when it was written. */
async function readStreams(given: { urls: string[]; count: number; key: string | null }): Promise<number[]> {
  const { urls, count, key } = given;
  const delays: number[] = [];
  const read = async (at: number): Promise<void> => {
    const host = at % urls.length;
    // Spread over the time between two tokens, as independent users are.
    await new Promise((resolve) => setTimeout(resolve, (at * 500) / count));
    const response = await fetch(key === null ? `${urls[host]}/chat/completions` : '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key ?? 'none'}` },
      body: JSON.stringify({
        model: `served-${host}`,
        messages: [{ role: 'user', content: 'Count.' }],
        stream: true,
      }),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return;
      const now = Date.now();
      for (const [, writtenAt] of value.matchAll(/"content":"(\d+)/g)) delays.push(now - Number(writtenAt));
    }
  };
  await Promise.all(Array.from({ length: count }, (_, at) => read(at)));
  return delays;
}

function catalogOf(urls: string[]): Catalog {
  const variant = (baseUrl: string, at: number): UpstreamVariant => ({
    engine: 'upstream',
    name: `paced-${at}`,
    license: 'Apache-2.0',
    contextLength: 2048,
    files: [],
    baseUrl,
    model: 'paced',
  });
  return {
    ownedBy: 'bench',
    models: urls.map((url, at) => ({
      id: `served-${at}`,
      kind: 'chat',
      created: 1,
      variants: [variant(url, at)],
    })),
  };
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
