import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite, type Alterations } from '../support/altered-site.ts';
import { OtherOrigin } from '../support/other-origin.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { waitFor, type Browser, type Tab } from './support/driver.ts';

const PAGE = '/lifetime-page.html';
const LISTEN = `<script>document.cookie = 'visitor=1'; addEventListener('message', ({ data }) => document.title += data)</script>`;

/** What a visitor sees of a page. */
interface Visit {
  isolated: boolean;
  image: boolean | null;
  script: boolean;
  framed: boolean;
  /** What `status()` says of isolation. */
  breaks: { kind: string; url: string } | null;
}

/** Presses the only button of the page, as a browser opens a popup for no less. */
async function signIn(tab: Tab): Promise<void> {
  await tab.evaluate(() => {
    document.title = '';
    document.querySelector('button')?.focus();
  });
  await tab.press('Enter');
}
const signedIn = (tab: Tab): Promise<boolean> => tab.evaluate(() => document.title.includes('signed in'));

describe.each(selectedBrowsers())('$name', ({ name, launch }) => {
  let browser: Browser;
  let other: OtherOrigin;
  const sites: AlteredSite[] = [];
  /** WebKit has no COEP `credentialless`. */
  const hasCredentialless = name !== 'webkit';

  beforeAll(async () => {
    [browser, other] = await Promise.all([launch(), OtherOrigin.start()]);
  });
  afterEach(async () => {
    for (const site of sites.splice(0)) await site.stop();
  });
  afterAll(async () => {
    await browser?.close();
    await other?.stop();
  });

  /** A site with a page that has these elements. Each has its own origin, and so its own record. */
  async function open(body: string, alterations: Alterations = {}): Promise<Tab> {
    const site = await AlteredSite.start(inject('siteUrl'), alterations);
    sites.push(site);
    const page = await (await fetch(inject('siteUrl') + PAGE)).text();
    const text = `${page}${LISTEN}${body}`;
    site.files.set('/with.html', () => text);
    const { headers } = alterations;
    site.handlers.set('/with.html', (_, answer) =>
      answer.writeHead(200, { 'content-type': 'text/html', ...headers?.('/with.html') }).end(text),
    );
    return browser.open(`${site.url}/with.html`);
  }

  const start = async (tab: Tab): Promise<void> => {
    await waitFor(tab, () => 'lifetime' in window && document.readyState === 'complete');
    await tab.evaluate(() => window.lifetime.start({ workerUrl: '/counting-worker.js' }).then(() => null));
  };

  const look = (tab: Tab): Promise<Visit> =>
    tab.evaluate(async () => {
      const { isolationBreaks } = await window.lifetime.handle().status();
      const image = document.querySelector('img');
      return {
        isolated: crossOriginIsolated,
        image: image && image.naturalWidth > 0,
        script: document.documentElement.dataset['script'] === 'ran',
        framed: document.title.includes('framed'),
        breaks: isolationBreaks,
      };
    });

  async function visit(tab: Tab): Promise<Visit> {
    await start(tab);
    return look(tab);
  }

  async function visitAgain(tab: Tab): Promise<Visit> {
    await tab.reload();
    return visit(tab);
  }

  const breaks = (kind: string, path: string) => ({ kind, url: other.url + path });

  test('a page that needs nothing of others is isolated from its second visit on', async () => {
    const tab = await open('');
    expect(await visit(tab)).toMatchObject({ isolated: false, breaks: null });
    expect(await visitAgain(tab)).toMatchObject({ isolated: true, breaks: null });
    await tab.close();
  });

  test('a page below models/ is isolated as any other', async () => {
    const tab = await open('');
    const [site] = sites;
    const page = await (await fetch(inject('siteUrl') + PAGE)).text();
    // Its scripts are named relative to it.
    const text = page.replace('<title>', '<base href="/"><title>');
    site?.handlers.set('/models/with.html', (_, answer) =>
      answer.writeHead(200, { 'content-type': 'text/html' }).end(text),
    );
    await visit(tab);
    await tab.goto(`${site?.url}/models/with.html`);
    expect(await visit(tab)).toMatchObject({ isolated: false });
    expect(await visitAgain(tab)).toMatchObject({ isolated: true });
    await tab.close();
  });

  /** Serves pages of the site beside the one that starts localtext. */
  function addPage(path: string, body: string): string {
    const site = sites.at(-1) as AlteredSite;
    const text = `<!doctype html><body>${LISTEN}${body}`;
    site.handlers.set(path, (_, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end(text));
    return site.url + path;
  }
  const lookPlainly = (tab: Tab) =>
    tab.evaluate(() => {
      const image = document.querySelector('img');
      return {
        isolated: crossOriginIsolated,
        framed: document.title.includes('framed'),
        image: image && image.complete && image.naturalWidth > 0,
      };
    });

  test('a page of the site that does not start localtext is left alone', async () => {
    const tab = await open('');
    const image = `<img src="${other.url}/private/image.png">`;
    const plain = addPage('/prices.html', `${image}<iframe src="${other.url}/frame.html"></iframe>`);
    const [site] = sites;
    await visit(tab);
    expect(await visitAgain(tab)).toMatchObject({ isolated: true });
    for (let round = 0; round < 2; round++) {
      await tab.goto(plain);
      const whole = { isolated: false, framed: true, image: true };
      await expect.poll(() => lookPlainly(tab)).toEqual(whole);
    }
    await tab.goto(`${site?.url}/with.html`);
    expect(await visit(tab)).toMatchObject({ isolated: true });
    await tab.close();
  });

  test('an isolated page shows frames of the site that do not start localtext, and talks to its popups', async () => {
    const tab = await open(
      `<iframe src="/own-frame.html"></iframe><button onclick="open('/own-popup.html', 'popup', 'width=300,height=300')">Sign in</button>`,
    );
    addPage('/own-frame.html', `<script>parent.postMessage('framed', '*')</script>`);
    // It stays open: one that closes at once counts as lost.
    addPage('/own-popup.html', `<script>opener.postMessage('signed in', '*')</script>`);
    await visit(tab);
    for (let round = 0; round < 2; round++) {
      // Firefox's driver waits for the frame of the earlier page.
      await tab.evaluate(() => {
        Object.assign(window, { lifetime: undefined });
        setTimeout(() => location.reload());
      });
      await expect.poll(() => tab.evaluate(() => Boolean(window.lifetime)).catch(() => false)).toBe(true);
      await visit(tab);
      await expect.poll(() => look(tab)).toMatchObject({ isolated: true, framed: true, breaks: null });
    }
    // Last: Firefox's driver reloads no page behind an open popup.
    await signIn(tab);
    await expect.poll(() => signedIn(tab)).toBe(true);
    await tab.close();
  });

  test('a page that may not be isolated, by its Permissions-Policy, gets no headers', async () => {
    const tab = await open(`<img src="${other.url}/private/image.png">`, {
      headers: (path) => (path === '/with.html' ? { 'permissions-policy': 'cross-origin-isolated=()' } : {}),
    });
    await visit(tab);
    for (let round = 0; round < 2; round++) {
      const seen = await visitAgain(tab);
      expect(seen).toMatchObject({ isolated: false, image: true });
    }
    await tab.close();
  });

  // Firefox does not show the headers' mark to a page in a frame: docs/hosting.md.
  test.skipIf(name === 'firefox')(
    'an image that the headers keep away from a framed page loads again',
    async () => {
      const starting = `<script>addEventListener('load', async () => {
      await lifetime.start({ workerUrl: '/counting-worker.js' });
      const image = Object.assign(new Image(), { src: '${other.url}/private/image.png' });
      document.body.append(image);
      const loaded = await new Promise((resolve) => {
        image.onload = () => resolve(true);
        image.onerror = () => resolve(false);
      });
      await lifetime.handle().status();
      parent.postMessage('image: ' + loaded, '*');
    });</script>`;
      const inner = await open(starting);
      await inner.close();
      const [framed] = sites;
      sites.push(await AlteredSite.start(inject('siteUrl')));
      const tab = await browser.open(
        addPage('/outer.html', `<iframe src="${framed?.url}/with.html"></iframe>`),
      );
      const visitOuter = (): Promise<string> => waitFor(tab, () => document.title);
      expect(await visitOuter()).toBe('image: true');
      await tab.reload();
      expect(await visitOuter()).toBe(`image: ${!hasCredentialless}`);
      // The page tells nothing of the time when the need is stored.
      const visitOuterAgain = (): Promise<string> => tab.reload().then(visitOuter);
      await expect.poll(visitOuterAgain, { timeout: 30_000 }).toBe('image: true');
      await tab.close();
    },
  );

  test('an isolated page starts a worker whose script is kept when it is first used', async () => {
    const tab = await open('');
    await visit(tab);
    expect(await visitAgain(tab)).toMatchObject({ isolated: true });
    const list = await (await fetch(`${inject('siteUrl')}/localtext-sw.js`)).text();
    const script = /localtext\/wasm\/wllama-compat-\w+\.js/.exec(list)?.[0] ?? '';
    // From the network, then from the cache.
    for (let round = 0; round < 2; round++) {
      const started = await tab.evaluate(
        (url) =>
          new Promise<string>((resolve) => {
            const worker = new Worker(url, { name: '{}' });
            worker.onmessage = () => resolve('started');
            worker.onerror = () => resolve('blocked');
          }),
        `/${script}`,
      );
      expect(started).toBe('started');
      const cached = () =>
        tab.evaluate(
          async (url) => (await caches.match(url, { ignoreSearch: true })) !== undefined,
          `/${script}`,
        );
      await expect.poll(cached).toBe(true);
    }
    await tab.close();
  });

  test('images and scripts of another origin load at each visit', async () => {
    const tab = await open(
      `<img src="${other.url}/image.png"><script src="${other.url}/script.js"></script>`,
    );
    const whole = { image: true, script: true };
    const known = hasCredentialless ? null : { kind: 'file' };
    expect(await visit(tab)).toMatchObject({ ...whole, isolated: false, breaks: known });
    for (let round = 0; round < 2; round++)
      expect(await visitAgain(tab)).toMatchObject({ ...whole, isolated: hasCredentialless, breaks: known });
    await tab.close();
  });

  test('an image that isolation keeps away loads again at the next visit; one that is missing changes nothing', async () => {
    const tab = await open('');
    await visit(tab);
    const add = (path: string): Promise<void> =>
      tab.evaluate((url) => {
        document.querySelector('img')?.remove();
        document.body.append(Object.assign(new Image(), { src: url }));
      }, other.url + path);
    const settled = (): Promise<Visit> =>
      waitFor(tab, () => document.querySelector('img')?.complete).then(() => look(tab));
    await add('/none.png');
    expect(await settled()).toMatchObject({ image: false, breaks: null });

    await visitAgain(tab);
    await add('/none.png');
    expect(await settled()).toMatchObject({ isolated: true, image: false, breaks: null });
    await add('/private/image.png');
    await expect.poll(async () => (await look(tab)).breaks).toEqual(breaks('file', '/private/image.png'));
    expect(await settled()).toMatchObject({ isolated: true, image: false });

    await visitAgain(tab);
    await add('/private/image.png');
    expect(await settled()).toMatchObject({ isolated: false, image: true });

    await tab.close();
  });

  test('a frame of another origin is shown at each visit', async () => {
    const tab = await open(`<iframe src="${other.url}/frame.html"></iframe>`);
    for (const each of [visit, visitAgain, visitAgain]) {
      const seen = await each(tab);
      expect(seen).toMatchObject({ isolated: false, framed: true, breaks: breaks('frame', '/frame.html') });
    }
    await tab.close();
  });

  // Firefox and WebKit do not show it to the page: docs/hosting.md.
  test.runIf(name === 'chromium')(
    'a frame that a redirect leads elsewhere, put into an isolated page, is shown at the next visit',
    async () => {
      const tab = await open('');
      sites[0]?.handlers.set('/leads-away', (_, answer) =>
        answer.writeHead(302, { location: `${other.url}/frame.html` }).end(),
      );
      const add = (): Promise<void> =>
        tab.evaluate(() => {
          document.body.append(Object.assign(document.createElement('iframe'), { src: '/leads-away' }));
        });
      await visit(tab);
      expect(await visitAgain(tab)).toMatchObject({ isolated: true });
      await add();
      await expect.poll(async () => (await look(tab)).breaks?.kind).toBe('frame');
      expect(await visitAgain(tab)).toMatchObject({ isolated: false });
      await add();
      await expect.poll(() => look(tab)).toMatchObject({ framed: true });
      await tab.close();
    },
  );

  /** Button as in sign-in libraries. Some open an empty window first, as it must be opened in the click. */
  const button = (how: 'at once' | 'empty first'): string =>
    how === 'at once'
      ? `<button onclick="open('${other.url}/sign-in.html', 'popup', 'width=300,height=300')">Sign in</button>`
      : `<button onclick="const popup = open('', 'popup', 'width=300,height=300'); setTimeout(() => popup.location = '${other.url}/sign-in.html', 100)">Sign in</button>`;

  test.each(['at once', 'empty first'] as const)('a sign-in popup keeps its opener (%s)', async (how) => {
    const tab = await open(button(how));
    await visit(tab);
    await signIn(tab);
    await expect.poll(() => signedIn(tab)).toBe(true);
    await expect.poll(async () => (await look(tab)).breaks?.kind).toBe('popup');
    expect(await visitAgain(tab)).toMatchObject({ isolated: false, breaks: { kind: 'popup' } });
    await signIn(tab);
    await expect.poll(() => signedIn(tab)).toBe(true);
    await tab.close();
  });

  test.each(['at once', 'empty first'] as const)(
    'a sign-in popup that has lost its opener has it at the next visit (%s)',
    async (how) => {
      const tab = await open(button(how));
      await visit(tab);
      expect(await visitAgain(tab)).toMatchObject({ isolated: true, breaks: null });
      await signIn(tab);
      await expect.poll(async () => (await look(tab)).breaks?.kind).toBe('popup');
      expect(await signedIn(tab)).toBe(false);
      await visitAgain(tab);
      await signIn(tab);
      await expect.poll(() => signedIn(tab)).toBe(true);
      await tab.close();
    },
  );

  test.each([
    [{ 'cross-origin-opener-policy': 'same-origin-allow-popups' }, false],
    [{ 'cross-origin-embedder-policy': 'unsafe-none' }, false],
    [{ 'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'cross-origin' }, true],
  ])('the host’s %o stay, and others are added if that isolates', async (headers, isolated) => {
    const tab = await open(button('at once'), {
      headers: (path) => (path === '/with.html' ? headers : {}),
    });
    await visit(tab);
    expect(await visitAgain(tab)).toMatchObject({ isolated });
    if (!isolated) {
      await signIn(tab);
      await expect.poll(() => signedIn(tab)).toBe(true);
    }
    await tab.close();
  });
});
