import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { EmbedderTab } from '../browser/weights-faults/support/embedder-tab.ts';
import { CHUNK, CHUNKS, FILE, MODEL, options, VARIANT } from '../browser/weights-faults/support/fault-rig.ts';
import { FaultSite } from '../support/fault-site.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** A browser is killed while it downloads, as by an empty battery, and started again with what is on its disk. */

let site: FaultSite;
let body: Buffer;
let hash: string;
/** What whole weights give. */
let known: number[];

const open = async (context: BrowserContext): Promise<EmbedderTab> =>
  new EmbedderTab(await openPage(context, site.url, options), MODEL, VARIANT);

beforeAll(async () => {
  body = await readFile(`public/${FILE}`);
  hash = createHash('sha256').update(body).digest('hex');
  site = await FaultSite.start(inject('siteUrl'), `/${FILE}`, body);
  const context = await launch();
  known = await (await open(context)).embed();
  await context.close();
});

/** The browser's own processes end with the first of them. */
async function kill(profile: string): Promise<void> {
  const [, id] = /-(\d+)$/.exec(await readlink(join(profile, 'SingletonLock'))) ?? [];
  const pid = Number(id);
  process.kill(pid, 'SIGKILL');
  const isThere = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  for (let at = 0; isThere() && at < 200; at++) await sleep(50);
  expect(isThere()).toBe(false);
}

/** The SHA-256 of what is stored of the file. */
const storedHash = ({ page }: EmbedderTab): Promise<string> =>
  page.evaluate(async (name) => {
    let folder = await navigator.storage.getDirectory();
    for (const each of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(each);
    const bytes = await (await (await folder.getFileHandle(name)).getFile()).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }, hash);

test.each([
  ['before a chunk is whole', 1, 200, 0],
  ['after the first of six chunks', 2, 300, 1],
  ['before the last of six chunks', CHUNKS, 300, 2],
  ['while chunks come as fast as they can', CHUNKS, 0, 1],
])(
  'killed %s: the next start downloads what is missing, and the answer is right',
  async (_, asked, delayMs, least) => {
    const profile = await tempFolder('killed');
    site.reset(() => ({ delayMs }));
    const first = await open(await launch({ profile }));
    void first.ready();
    await expect
      .poll(() => site.asked.length, { interval: 5, timeout: 60_000 })
      .toBeGreaterThanOrEqual(asked);
    await kill(profile);
    // Answers to the killed browser are counted, too.
    await sleep(2 * delayMs + 500);

    site.reset();
    const context = await launch({ profile });
    try {
      const again = await open(context);
      const { bytes: kept } = await again.stored();
      await again.expectLoaded();
      console.log(
        `killed after ${asked} chunks were asked for: ${kept} bytes were kept, ${site.asked.length} chunks and ${site.sent} bytes were fetched`,
      );
      expect(Math.floor(kept / CHUNK)).toBeGreaterThanOrEqual(least);
      expect(site.asked.length).toBeLessThanOrEqual(CHUNKS - Math.floor(kept / CHUNK));
      expect(site.sent).toBeLessThanOrEqual(body.length - Math.floor(kept / CHUNK) * CHUNK);
      expect(await storedHash(again)).toBe(hash);
      const vector = await again.embed();
      expect(Math.max(...vector.map((value, at) => Math.abs(value - (known[at] ?? 9))))).toBeLessThan(1e-4);
      site.reset();
      await again.reload();
      await again.embed();
      expect(site.asked).toEqual([]);
    } finally {
      await context.close();
    }
  },
);
