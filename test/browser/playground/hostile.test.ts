import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../../support/launch.ts';
import { openView } from '../../support/open-view.ts';
import { storedConversation } from '../../support/stored-conversation.ts';

/** What a model, a file, a link or the storage may hold must leave the playground usable. */

const siteUrl = inject('siteUrl');
const nested = Array.from({ length: 400 }, (_, depth) => `${' '.repeat(2 * depth)}- deep`).join('\n');
const REPLIES = {
  quotes: '>'.repeat(3000),
  line: 'a'.repeat(990_000),
  items: '- item\n'.repeat(100_000),
  lists: nested,
  cells: `${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n${'|b\n'.repeat(500)}`,
  brackets: '[![*_'.repeat(20_000),
  script:
    '<img src=x onerror="window.hacked=1"><a href="javascript:window.hacked=1">a</a><style>*{display:none}</style>',
};
let context: BrowserContext;
let page: Page;
const faults: string[] = [];

beforeAll(async () => {
  context = await launch();
  await context.addInitScript(() => {
    const seen = window as unknown as { violations: string[] };
    seen.violations = [];
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
      seen.violations.push(`${effectiveDirective} ${blockedURI}`),
    );
  });
  page = await context.newPage();
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.goto(siteUrl);
  // Nothing is to be downloaded for these.
  await page.evaluate(async () => (await window.localtext).status());
});

async function importFile(conversations: object[]): Promise<string> {
  await page.goto(`${siteUrl}/#/chat`);
  await page.getByRole('button', { name: 'Conversations' }).click();
  const text = JSON.stringify({ format: 'localtext-conversations', version: 1, conversations });
  const file = { name: 'hostile.json', mimeType: 'application/json', buffer: Buffer.from(text) };
  const dialog = page.getByRole('dialog');
  await dialog.locator('input[type=file]').setInputFiles(file);
  const note = dialog.getByRole('status').filter({ hasText: /mported/ });
  await note.waitFor();
  const said = (await note.textContent()) ?? '';
  await page.keyboard.press('Escape');
  return said.trim();
}

/** Longest pause between two frames while `work` runs, in milliseconds. */
async function longestPause(work: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const watch = window as unknown as { longest: number };
    watch.longest = 0;
    let last = performance.now();
    const frame = (): void => {
      const now = performance.now();
      watch.longest = Math.max(watch.longest, now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await work();
  return page.evaluate(() => (window as unknown as { longest: number }).longest);
}

test('replies that are huge, or nested deep, are shown, and the tab stays responsive', async () => {
  const all = Object.entries(REPLIES).map(([id, content]) => storedConversation(id, content));
  expect(await importFile(all)).toBe(`Imported ${all.length} conversations.`);
  for (const [id, content] of Object.entries(REPLIES)) {
    const pause = await longestPause(async () => {
      await page.goto(`${siteUrl}/#/chat/${id}`);
      await page.locator('.turn-user').waitFor();
      await page.locator('.turn-assistant .markdown').waitFor();
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    });
    expect({ id, pause: pause < 3000 ? 'short' : pause }).toEqual({ id, pause: 'short' });
    const shown = (await page.locator('.turn-assistant .markdown').textContent()) ?? '';
    if (id !== 'script') expect(shown.length).toBe(content.length);
    expect(await page.getByRole('textbox', { name: 'Message' }).isVisible()).toBe(true);
  }
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(faults).toEqual([]);
});

test('an invalid conversation in the storage is not opened', async () => {
  await page.evaluate(
    (stored) =>
      new Promise<void>((resolve, reject) => {
        const open = indexedDB.open('localtext-playground');
        open.onerror = () => reject(open.error ?? new Error('no database'));
        open.onsuccess = () => {
          const store = open.result.transaction('conversations', 'readwrite').objectStore('conversations');
          for (const each of stored) store.put(each);
          store.transaction.oncomplete = () => {
            open.result.close();
            resolve();
          };
        };
      }),
    [
      storedConversation('stored-circle', 'x', { '': 'a', a: 'a' }),
      { id: 'no-conversation', updatedAt: 1e300, title: { a: 1 } },
    ],
  );
  for (const id of ['stored-circle', 'no-conversation', '%', '%E0%A4%A', '__proto__']) {
    await page.goto(`${siteUrl}/#/chat/${id}`);
    if (id.includes('-'))
      await page
        .getByRole('alert')
        .filter({ hasText: 'its stored record is damaged, or too large' })
        .waitFor();
    await page.reload();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
  }
  expect(faults).toEqual([]);
});

test('a view that fails says so, and the way out of it works', async () => {
  await page.evaluate(() => {
    const broken = Intl.RelativeTimeFormat.prototype;
    const { format } = broken;
    const { now } = Date;
    Date.now = () => now() + 86_400_000;
    broken.format = () => {
      throw new Error('a fault of this view');
    };
    Object.assign(window, { repair: () => Object.assign(broken, { format }) });
  });
  await page.goto(`${siteUrl}/#/keys`);
  const alert = page.getByRole('alert');
  await alert.getByText('This view could not be shown.').waitFor();
  await alert.getByText('a fault of this view').waitFor();
  await page.goto(`${siteUrl}/#/models`);
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  await page.goto(`${siteUrl}/#/keys`);
  await page.evaluate(() => (window as unknown as { repair(): void }).repair());
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  expect(await alert.count()).toBe(0);
});

test('where the browser blocks site data, the page says so, and its theme can be chosen', async () => {
  const blocked = await context.newPage();
  const uncaught: string[] = [];
  blocked.on('pageerror', ({ message }) => uncaught.push(message));
  await blocked.addInitScript(() => {
    const refuse = (): never => {
      throw new DOMException('blocked', 'SecurityError');
    };
    for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, { get: refuse });
    IDBFactory.prototype.open = refuse;
  });
  await blocked.goto(siteUrl);
  const problem = /localtext could not start here\.This browser lets the page store no data\./;
  await blocked.getByRole('alert').filter({ hasText: problem }).waitFor();
  const theme = blocked.getByRole('button', { name: /^Theme: / });
  await theme.click();
  expect(await blocked.evaluate(() => document.documentElement.dataset['theme'])).toBe('light');
  await blocked.getByRole('button', { name: 'Conversations' }).click();
  await blocked.getByRole('dialog').getByText('The stored conversations cannot be read: ').waitFor();
  expect(uncaught).toEqual([]);
  await blocked.close();
});

test('on a page that is not secure, every view says so', async () => {
  const origin = 'http://site.test';
  await context.route(`${origin}/**`, async (route) => {
    await route.fulfill({
      response: await route.fetch({ url: route.request().url().replace(origin, siteUrl) }),
    });
  });
  const insecure = await openView(context);
  for (const name of ['chat', 'compare', 'embeddings', 'decide', 'speech', 'models', 'keys', 'requests']) {
    await insecure.goto('about:blank');
    await insecure.goto(`${origin}/#/${name}`);
    const alert = insecure.getByRole('alert').filter({ hasText: 'localtext could not start here.' });
    await alert.filter({ hasText: /only on pages with https.*not in a secure context/ }).waitFor();
    expect(await insecure.evaluate(() => isSecureContext)).toBe(false);
  }
  await insecure.close();
});

test('before its script has come, the page shows its welcome for the chat alone', async () => {
  const slow = await launch();
  await slow.route(/\/assets\/.*\.js$/, () => undefined);
  const early = await slow.newPage();
  const title = early.getByText('The model is in this page.');
  for (const [hash, isShown] of [
    ['', true],
    ['#/chat', true],
    ['#/models', false],
    ['#/chat/an-id', false],
  ] as const) {
    await early.goto('about:blank');
    await early.goto(`${siteUrl}/${hash}`, { waitUntil: 'commit' });
    await title.waitFor({ state: 'attached' });
    await expect.poll(() => title.isVisible(), { message: hash }).toBe(isShown);
  }
});

test('text from right to left is shown so, and so are the fields that it is written in', async () => {
  const hebrew = 'שלום עולם';
  const conversation = storedConversation('rtl', hebrew) as {
    title: string;
    turns: { a: { content: string } };
  };
  conversation.title = conversation.turns.a.content = hebrew;
  await importFile([conversation]);
  await page.goto(`${siteUrl}/#/chat/rtl`);
  const expectRightToLeft = async (selector: string): Promise<void> => {
    const direction = page.locator(selector).evaluate((element) => getComputedStyle(element).direction);
    expect(await direction, selector).toBe('rtl');
  };
  await page.getByRole('textbox', { name: 'Message' }).fill(hebrew);
  for (const selector of ['.bubble', '.markdown-block', '.composer textarea'])
    await expectRightToLeft(selector);
  await page.getByRole('button', { name: 'Edit and send as another version' }).click();
  await expectRightToLeft('.turn-editor textarea');
  await page.getByRole('button', { name: 'Conversations' }).click();
  await expectRightToLeft('.history-open[aria-current] .history-title');
  await page.keyboard.press('Escape');
});
