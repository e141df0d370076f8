import { gzipSync } from 'node:zlib';

import { build } from 'vite';

import { launch } from '../../test/support/launch.ts';
import { StaticSite } from '../../test/support/static-site.ts';
import type { Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';

/** Lighthouse's mobile profile: a slow 4G connection, and a quarter of this processor's speed. */
const PHONE = {
  viewport: { width: 390, height: 844 },
  network: { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 93_750 },
  cpu: 4,
};

interface Visit {
  largestContentfulPaintMs: number;
  /** Scripts that had arrived when the page was first painted. */
  scripts: string[];
}

/** A first visit of the playground: what arrives before it shows anything, and when it shows most. */
export async function visit({ rounds }: Stage): Promise<Row[]> {
  const paints: number[] = [];
  const kilobytes: number[] = [];
  // The test site has more pages, and so more chunks that pages share.
  await build({ logLevel: 'warn' });
  const site = await StaticSite.start('production');
  for (let round = 0; round < rounds; round++) {
    const { largestContentfulPaintMs, scripts } = await visitOnce(site.url);
    paints.push(largestContentfulPaintMs);
    const bodies = await Promise.all(scripts.map(async (url) => (await fetch(url)).arrayBuffer()));
    kilobytes.push(bodies.reduce((sum, body) => sum + gzipSync(new Uint8Array(body)).length, 0) / 1000);
  }
  await site.stop();
  return [
    {
      name: 'a visit of the playground: JavaScript before the first paint',
      measures:
        'Every script that has arrived at the first contentful paint of a first visit, gzipped; a KB is 1,000 bytes.',
      unit: 'KB',
      values: kilobytes,
      goal: { atMost: 60 },
    },
    {
      name: 'a visit of the playground: largest contentful paint on a throttled phone profile',
      measures:
        'A first visit at 390 px, on 1.6 Mbit/s with 150 ms of latency and a quarter of the processor, from a host that does not compress.',
      unit: 'ms',
      values: paints,
      goal: { atMost: 1500 },
    },
  ];
}

async function visitOnce(url: string): Promise<Visit> {
  const context = await launch({ extraArgs: NO_GPU });
  try {
    const page = await context.newPage();
    await page.setViewportSize(PHONE.viewport);
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', PHONE.network);
    await session.send('Emulation.setCPUThrottlingRate', { rate: PHONE.cpu });
    await page.goto(`${url}/`);
    await page.getByRole('textbox').first().waitFor();
    return await page.evaluate(async () => {
      const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
      const scripts = (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name, responseEnd }) => new URL(name).pathname.endsWith('.js') && responseEnd <= paint)
        .map(({ name }) => name);
      const largestContentfulPaintMs = await new Promise<number>((resolve) => {
        let last = 0;
        const observer = new PerformanceObserver((list) => {
          for (const { startTime } of list.getEntries()) last = startTime;
        });
        observer.observe({ type: 'largest-contentful-paint', buffered: true });
        // Text that is still to come would be larger than what has been painted.
        setTimeout(() => resolve(last), 3000);
      });
      return { largestContentfulPaintMs, scripts };
    });
  } finally {
    await context.close();
  }
}
