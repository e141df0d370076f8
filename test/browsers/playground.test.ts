import { mkdir, writeFile } from 'node:fs/promises';

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { waitFor, type Browser, type Tab } from './support/driver.ts';
import { storeConversation } from './support/store-conversation.ts';
import { unreachable } from './support/unreachable.ts';

/** The playground in every browser, while the chat's weights are on their way. */

const VIEWS = ['Chat', 'Compare', 'Embeddings', 'Decide', 'Speech', 'Models', 'Keys', 'Requests', 'Device'];
const SIZES = [
  [1280, 800],
  [390, 780],
] as const;
/** The weights do not arrive while the tests run. */
const BYTES_PER_SECOND = 10_000;
const SCREENSHOTS = 'test-results/browsers';

/** The first script of the page keeps every error, as no WebDriver of WebKitGTK reports them. */
const KEEP_ERRORS = `window.faults = [];
const keep = (text) => window.faults.push(String(text));
const { error } = console;
console.error = (...parts) => { keep(parts.join(' ')); error(...parts); };
addEventListener('error', ({ message, target }) => keep(message ?? 'not loaded: ' + (target.src ?? target.href)), true);
addEventListener('unhandledrejection', ({ reason }) => keep(reason));
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => keep(violatedDirective + ' ' + blockedURI));`;

declare global {
  interface Window {
    faults: string[];
  }
}

describe.each(selectedBrowsers())('$name', ({ name, launch }) => {
  let browser: Browser;
  let site: AlteredSite;
  let tab: Tab;

  beforeAll(async () => {
    const alterations = { isolated: true, bytesPerSecond: BYTES_PER_SECOND };
    [browser, site] = await Promise.all([launch(), AlteredSite.start(inject('siteUrl'), alterations)]);
    site.files.set('/', (html) => html.replace('<script', '<script src="/keep-errors.js"></script><script'));
    site.serve('/keep-errors.js', KEEP_ERRORS);
    tab = await browser.open(site.url);
    await waitFor(tab, () => document.querySelector('.load-card .progress') !== null);
    await storeConversation(tab);
  });
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail') return;
    await mkdir(SCREENSHOTS, { recursive: true });
    const path = `${SCREENSHOTS}/${name}-${task.name.replaceAll(/\W+/g, '-')}.png`;
    await writeFile(path, await tab.screenshot());
    console.error(`A screenshot is in ${path}.`);
  });
  afterAll(() => browser?.close());

  /** The page hears of its new width with the next frame. */
  const resize = async (width: number, height: number): Promise<void> => {
    await tab.resize(width, height);
    await tab.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++) await new Promise((drawn) => requestAnimationFrame(drawn));
    });
  };

  const show = async (hash: string, title: string): Promise<void> => {
    await tab.evaluate((to) => void (location.hash = to), hash);
    await waitFor(
      tab,
      (wanted) =>
        document.querySelector('h1')?.textContent === wanted && !document.querySelector('.view-loading'),
      title,
    );
  };

  test.each(VIEWS)('%s opens at its top, fits 1280 and 390 px, and keys reach all of it', async (view) => {
    await show(view.toLowerCase(), view);
    expect(await tab.evaluate(() => document.querySelector('main')?.scrollTop)).toBe(0);
    for (const [width, height] of SIZES) {
      await resize(width, height);
      await show(view.toLowerCase(), view);
      const widths = await tab.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
      expect(widths).toEqual([width, width]);
      const cut = await tab.evaluate(() =>
        [...document.querySelectorAll('.composer textarea')].some(
          ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1,
        ),
      );
      expect(cut).toBe(false);
      expect(await unreachable(tab)).toEqual([]);
      await tab.evaluate(() => document.querySelector('main')?.scrollTo(0, 9999));
    }
    expect(await tab.evaluate(() => window.faults)).toEqual([]);
  });

  test('a reply shows whole list numbers, and text fields grow with their text', async () => {
    await resize(390, 780);
    await show('chat/stored', 'Chat');
    await waitFor(tab, () => document.querySelector('.markdown ol') !== null);
    const [padding, number] = await tab.evaluate(() => {
      const list = document.querySelector('.markdown ol') ?? document.body;
      const widest = document.createElement('span');
      widest.textContent = '12.\u00a0';
      list.querySelector('li')?.append(widest);
      const { width } = widest.getBoundingClientRect();
      widest.remove();
      return [parseFloat(getComputedStyle(list).paddingInlineStart), width] as const;
    });
    expect(padding).toBeGreaterThan(number);
    // With a message below the window, only the messages scroll.
    const [shown, whole] = await tab.evaluate(() => {
      const message = document.querySelector('.turn-user')?.cloneNode(true);
      if (message) document.querySelector('.turns')?.append(message);
      document.querySelector('.transcript')?.scrollTo(0, 0);
      const { clientHeight, scrollHeight } = document.querySelector('main') ?? document.body;
      message?.parentNode?.removeChild(message);
      return [clientHeight, scrollHeight];
    });
    expect(whole).toBe(shown);

    const composerHeight = (text: string): Promise<number> =>
      tab.evaluate(async (value) => {
        const area = document.querySelector<HTMLTextAreaElement>('.composer textarea');
        if (!area) return 0;
        area.value = value;
        area.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        return area.offsetHeight;
      }, text);
    const one = await composerHeight('one line');
    expect(await composerHeight('five\nlines\nof\ntext\n')).toBeGreaterThan(one + 4 * 20);
    await composerHeight('');
  });

  test('the keyboard reaches every setting, and a device without shared memory is told so', async () => {
    await resize(1280, 800);
    await show('chat/stored', 'Chat');
    await tab.evaluate(() => {
      document.querySelector<HTMLElement>('[aria-label=Settings][aria-expanded=false]')?.click();
    });
    await waitFor(tab, () => document.querySelector('.chat-panel summary') !== null);
    await tab.evaluate(() => {
      for (const group of document.querySelectorAll('details')) group.open = true;
    });
    expect(await unreachable(tab)).toEqual([]);
    expect(
      await tab.evaluate(
        () =>
          [...document.querySelectorAll('select')].filter(
            (each) => getComputedStyle(each).appearance !== 'none',
          ).length,
      ),
    ).toBe(0);
    // WebKitGTK does not report its storage.
    await show('models', 'Models');
    await waitFor(tab, () => document.querySelector('[aria-label="Weights in this browser"]') !== null);
    await show('device', 'Device');
    const text = await waitFor(tab, () => document.querySelector('.meanings')?.textContent);
    const shared = await tab.evaluate(() => 'SharedArrayBuffer' in globalThis);
    expect(text?.includes('no SharedArrayBuffer')).toBe(!shared);
    expect(await tab.evaluate(() => window.faults)).toEqual([]);
  });

  test('a chat that waits for its model is drawn as one that waits', async () => {
    await show('chat', 'Chat');
    await tab.evaluate(() => document.querySelector<HTMLElement>('[aria-label="New chat"]')?.click());
    await waitFor(tab, () => document.querySelector('.starters button') !== null);
    await tab.evaluate(() => document.querySelector<HTMLElement>('.starters button')?.click());
    await show('requests', 'Requests');
    const widths = await waitFor(tab, () => {
      const bars = [...document.querySelectorAll('.timeline-lane:first-child .timeline-bar')];
      const [waits = 0, ...others] = bars.slice(-3).map((bar) => bar.clientWidth);
      return waits > 5 && others;
    });
    expect(widths).toEqual([1, 1]);
  });
});
