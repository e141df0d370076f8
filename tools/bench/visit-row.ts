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

/** Measures the built playground. The test site has more pages, and so more chunks that pages share. */
async function measured(rounds: number, measure: (url: string) => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  await build({ logLevel: 'warn' });
  const site = await StaticSite.start('production');
  for (let round = 0; round < rounds; round++) values.push(await measure(site.url));
  await site.stop();
  return values;
}

/** A first visit of the playground: when it shows most. */
export async function visit({ rounds }: Stage): Promise<Row> {
  const paints = await measured(rounds, largestContentfulPaintMs);
  return {
    name: 'a visit of the playground: largest contentful paint on a throttled phone profile',
    unit: 'ms',
    values: paints,
    goal: { atMost: 1500 },
  };
}

/** A first visit of the playground: from the address to the first text of a reply, the download included. */
export async function firstReply({ rounds }: Stage): Promise<Row> {
  return {
    name: 'a first visit of the playground: from the address to the first text of a reply',
    unit: 'ms',
    values: await measured(rounds, firstReplyMs),
    goal: { atMost: 8000 },
  };
}

async function firstReplyMs(url: string): Promise<number> {
  const context = await launch({ extraArgs: NO_GPU });
  try {
    const page = await context.newPage();
    const began = performance.now();
    await page.goto(`${url}/`);
    const composer = page.getByRole('textbox', { name: 'Message' });
    await composer.fill('Hi');
    await composer.press('Enter');
    await page.locator('.turn-assistant .markdown p').first().waitFor();
    return performance.now() - began;
  } finally {
    await context.close();
  }
}

async function largestContentfulPaintMs(url: string): Promise<number> {
  const context = await launch({ extraArgs: NO_GPU });
  try {
    const page = await context.newPage();
    await page.setViewportSize(PHONE.viewport);
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', PHONE.network);
    await session.send('Emulation.setCPUThrottlingRate', { rate: PHONE.cpu });
    // The page reloads itself once it can be isolated: what counts is the document that the visitor sees first.
    let first: number | undefined;
    let last = 0;
    await page.exposeFunction('reportPaint', (document: number, at: number) => {
      first ??= document;
      if (document === first) last = at;
    });
    await page.addInitScript(observePaints);
    await page.goto(`${url}/`);
    await page.getByRole('textbox').first().waitFor();
    // Text that is still to come would be larger than what has been painted.
    await page.waitForTimeout(3000);
    return last;
  } finally {
    await context.close();
  }
}

/** Runs in the page. */
function observePaints(): void {
  const { reportPaint } = globalThis as unknown as { reportPaint(document: number, at: number): void };
  const observer = new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) reportPaint(performance.timeOrigin, startTime);
  });
  observer.observe({ type: 'largest-contentful-paint', buffered: true });
}
