import type { OutgoingHttpHeaders } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { OtherOrigin } from '../support/other-origin.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser, Tab } from './support/driver.ts';

const LISTEN = `<script>document.cookie = 'visitor=1'; addEventListener('message', ({ data }) => document.title += data)</script>`;

/** What a visitor sees of a page. */
interface Visit {
  started: boolean;
  isolated: boolean;
  image: boolean | null;
  framed: boolean;
  worker: string | null;
  /** Whether the page's own functions are the browser's. */
  untouched: boolean;
}

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let other: OtherOrigin;
  let site: AlteredSite;

  beforeAll(async () => {
    [browser, other] = await Promise.all([launch(), OtherOrigin.start()]);
  });
  afterEach(() => site.stop());
  afterAll(() => browser?.close());

  function addFile(path: string, text: string, headers: OutgoingHttpHeaders = {}): void {
    const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
    site.handlers.set(path, (_, answer) =>
      answer.writeHead(200, { 'content-type': type, ...headers }).end(text),
    );
  }

  /** Embeds of another origin that isolation breaks. */
  const embeds = (): string =>
    `<iframe src="${other.url}/frame.html"></iframe>
    <script>document.body.append(Object.assign(new Image(), { src: '${other.url}/private/image.png' }))</script>`;

  /** Starts a worker that imports a script of the other origin, which requires its cookie. */
  const worker = (path: string): string =>
    `<script>new Worker('${path}').onmessage = ({ data }) => (document.documentElement.dataset.worker = data)</script>`;

  /** A site in which each page starts localtext and names the isolated paths. */
  async function serve(isolation: readonly string[]): Promise<void> {
    site = await AlteredSite.start(inject('siteUrl'));
    addFile(
      '/worker.js',
      `try { importScripts('${other.url}/private/part.js'); postMessage(self.part) } catch { postMessage('no cookie') }`,
    );
    addFile('/engine.js', `import '/counting-worker.js'`);
    // A worker of a worker.
    addFile('/outer.js', `new Worker('/worker.js').onmessage = ({ data }) => postMessage(data)`);
    page = await (await fetch(`${inject('siteUrl')}/lifetime-page.html`)).text();
    page = page.replace('./assets/', '/assets/');
    page += `${LISTEN}<script>addEventListener('load', async () => {
      await lifetime.start({ workerUrl: '/engine.js', isolation: ${JSON.stringify(isolation)} });
      // The engine's worker answers.
      await lifetime.handle().ready('amber-phoenix-4');
      document.documentElement.dataset.isolated = (await lifetime.handle().status()).crossOriginIsolated;
    })</script>`;
  }
  let page = '';

  const look = (tab: Tab): Promise<Visit | null> =>
    tab
      .evaluate(() => {
        const image = document.querySelector('img');
        const { isolated, worker: said } = document.documentElement.dataset;
        return {
          started: isolated !== undefined,
          isolated: isolated === 'true' && crossOriginIsolated,
          image: image && image.complete && image.naturalWidth > 0,
          framed: document.title.includes('framed'),
          worker: said ?? null,
          untouched: [window.open, document.open].every((each) => String(each).includes('[native code]')),
        };
      })
      // The page is being reloaded.
      .catch(() => null);
  const seen = (tab: Tab) => expect.poll(() => look(tab), { timeout: 30_000 });

  /** Not by the driver: Firefox's waits for a frame of the earlier page. */
  const visit = (tab: Tab, url: string): Promise<void> =>
    tab.evaluate((address) => {
      delete document.documentElement.dataset['isolated'];
      setTimeout(() => location.assign(address));
    }, url);

  test('pages below a named path are isolated on their first visit, by one reload, with their workers', async () => {
    await serve(['./app/']);
    for (const path of ['/app/', '/app/deep/page?query'])
      addFile(path, page + worker('/worker.js') + `<iframe src="/app/frame"></iframe>`);
    addFile('/app/frame', `<script>parent.postMessage('framed', '*')</script>`);
    const tab = await browser.open(`${site.url}/app/`);
    const whole = { started: true, isolated: true, framed: true, worker: 'no cookie', untouched: true };
    await seen(tab).toMatchObject(whole);
    expect(site.asked.filter((url) => url === '/app/')).toHaveLength(2);
    // Its service worker is there, so another page is not reloaded.
    await visit(tab, `${site.url}/app/deep/page?query`);
    await seen(tab).toMatchObject(whole);
    await visit(tab, `${site.url}/app/deep/page?query`);
    await seen(tab).toMatchObject(whole);
    await tab.close();
  });

  test('a reload by the visitor shows an isolated page, also of a page that was kept from before', async () => {
    await serve(['/app/']);
    for (const path of ['/app/', '/app/other']) addFile(path, page);
    const tab = await browser.open(`${site.url}/app/`);
    await seen(tab).toMatchObject({ started: true, isolated: true });
    await visit(tab, `${site.url}/app/other`);
    for (let count = 0; count < 2; count++) {
      await seen(tab).toMatchObject({ started: true, isolated: true });
      await tab.evaluate(() => {
        delete document.documentElement.dataset['isolated'];
        setTimeout(() => location.reload());
      });
    }
    await seen(tab).toMatchObject({ started: true, isolated: true });
    await tab.close();
  });

  test('a worker of an isolated page starts another', async () => {
    await serve(['/app/']);
    addFile('/app/', page + worker('/outer.js'));
    const tab = await browser.open(`${site.url}/app/`);
    await seen(tab).toMatchObject({ isolated: true, worker: 'no cookie' });
    await tab.close();
  });

  test('no other page is changed, also while an isolated page is open', async () => {
    await serve(['/app/', '/only']);
    addFile('/app/', page);
    const plain = page + embeds() + worker('/worker.js');
    for (const path of ['/prices', '/only/below', '/application']) addFile(path, plain);
    const tab = await browser.open(`${site.url}/app/`);
    await seen(tab).toMatchObject({ isolated: true });
    for (const path of ['/prices', '/only/below', '/application']) {
      const beside = await browser.open(site.url + path);
      const whole = { image: true, framed: true, worker: 'imported', untouched: true };
      await seen(beside).toEqual({ started: true, isolated: false, ...whole });
      await visit(beside, site.url + path);
      await seen(beside).toEqual({ started: true, isolated: false, ...whole });
      await beside.close();
    }
    await tab.close();
  });

  test('another website that opens pages of the site changes nothing', async () => {
    await serve(['/app/']);
    for (const path of ['/app/', '/app/?1', '/app/new']) addFile(path, page);
    for (const path of ['/prices', '/prices?1']) addFile(path, page + embeds());
    const attacker = await AlteredSite.start(inject('siteUrl'));
    attacker.handlers.set('/', (_, answer) =>
      answer
        .writeHead(200, { 'content-type': 'text/html' })
        .end(
          `<button autofocus onclick="['/app/?1', '/prices?1', '/app/new'].forEach((path) => open('${site.url}' + path, path, 'width=300,height=300'))">`,
        ),
    );
    const tab = await browser.open(`${site.url}/app/`);
    await seen(tab).toMatchObject({ isolated: true });
    const hostile = await browser.open(attacker.url);
    await hostile.evaluate(() => document.querySelector('button')?.focus());
    await hostile.press('Enter');
    await expect.poll(() => site.asked.includes('/app/?1'), { timeout: 10_000 }).toBe(true);
    await hostile.close();
    await visit(tab, `${site.url}/prices`);
    await seen(tab).toMatchObject({ started: true, isolated: false, image: true, framed: true });
    await visit(tab, `${site.url}/app/`);
    await seen(tab).toMatchObject({ isolated: true });
    await tab.close();
    await attacker.stop();
  });

  test('without named paths nothing is isolated', async () => {
    await serve([]);
    addFile('/app/', page + embeds() + worker('/worker.js'));
    const tab = await browser.open(`${site.url}/app/`);
    const whole = { started: true, isolated: false, image: true, framed: true, worker: 'imported' };
    await seen(tab).toMatchObject(whole);
    await visit(tab, `${site.url}/app/`);
    await seen(tab).toMatchObject(whole);
    await tab.close();
  });

  test.each([
    [{ 'cross-origin-opener-policy': 'same-origin-allow-popups' }, false],
    [{ 'cross-origin-embedder-policy': 'unsafe-none' }, false],
    [{ 'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'cross-origin' }, true],
  ])('the host’s %o stay, and others are added if that isolates', async (headers, isolated) => {
    await serve(['/app/']);
    addFile('/app/', page, headers);
    const tab = await browser.open(`${site.url}/app/`);
    await seen(tab).toMatchObject({ started: true, isolated });
    // A reload that cannot help is not repeated.
    expect(site.asked.filter((url) => url === '/app/')).toHaveLength(2);
    await tab.close();
  });
});
