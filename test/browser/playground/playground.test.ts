import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, test } from 'vitest';

import { SCREENS, useScreen, violations } from '../../support/axe.ts';
import { launch } from '../../support/launch.ts';
import { openView } from '../../support/open-view.ts';
import { send } from '../../support/send.ts';

/** The playground as people see it, on real weights: what it says, what it keeps, and what axe finds in it. */

const siteUrl = inject('siteUrl');
const VIEWS = ['Chat', 'Compare', 'Embeddings', 'Decide', 'Speech', 'Models', 'Keys', 'Requests', 'Device'];
const SHORT_REPLIES = JSON.stringify({ maxTokens: 24, temperature: 0 });

let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launch();
  await context.addInitScript((settings) => {
    localStorage.setItem('localtext-playground:chat-settings', settings);
  }, SHORT_REPLIES);
  page = await openView(context);
  page.setDefaultTimeout(150_000);
  await page.goto(siteUrl);
});

const composer = () => page.getByRole('textbox', { name: 'Message' });
const replies = () => page.locator('.turn-assistant[aria-busy="false"]');

const focused = () => page.evaluate(() => document.activeElement?.textContent);

async function open(view: string): Promise<void> {
  await page.goto(`${siteUrl}/#/${view.toLowerCase()}`);
  await page.getByRole('heading', { level: 1, name: view }).waitFor({ state: 'attached' });
}

describe('chat', () => {
  test('says what will be downloaded, then answers, streaming, with its figures', async () => {
    await page.getByText(/^[\d.]+ MB of weights are downloaded once/).waitFor();
    const option = 'amber-phoenix-4 · smollm2-135m-instruct-q4_1 · 98.4 MB';
    await page.locator('.chat-head option', { hasText: option }).waitFor({ state: 'attached' });
    await composer().fill('Name a river in Europe.');
    await composer().press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await replies().first().waitFor();
    const text = (await replies().first().locator('.markdown').textContent()) ?? '';
    expect(text.trim().length).toBeGreaterThan(10);
    const figures = (await page.locator('.turn-stats').textContent()) ?? '';
    expect(figures).toMatch(/[\d.]+ tokens\/s · first after .+ · \d+ tokens · prompt \d+/);
    await expect(page.locator('[role=status]').first().textContent()).resolves.toContain('Reply: ');
  });

  test('the first reply leads to its request and the code that repeats it', async () => {
    await page.getByText('Turn your network off and ask again.').waitFor();
    await page.getByRole('link', { name: 'the request and its code' }).click();
    const detail = page.getByRole('dialog', { name: 'POST /v1/chat/completions' });
    await detail.getByText('Name a river in Europe.').first().waitFor();
    await detail.getByLabel('Copy as').waitFor();
    await page.goBack();
    await replies().first().waitFor();
  });

  test('keeps another reply beside the first, and both over a reload', async () => {
    await page.getByRole('button', { name: 'Another reply' }).click();
    await page.getByRole('group', { name: 'Versions' }).waitFor();
    await replies().first().waitFor();
    await expect(page.getByRole('group', { name: 'Versions' }).textContent()).resolves.toContain('2/2');
    await expect(page.evaluate(() => document.activeElement?.ariaLabel)).resolves.toBe('Messages');
    await page.reload();
    await expect(page.getByRole('group', { name: 'Versions' }).textContent()).resolves.toContain('2/2');
  });

  test('stops at once on Escape and keeps what was written', async () => {
    await page.evaluate(() => localStorage.removeItem('localtext-playground:chat-settings'));
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Maximum tokens').fill('500');
    await page.getByLabel('Maximum tokens').press('Tab');
    await composer().fill('Write a long story about the sea.');
    await composer().press('Enter');
    await page.locator('.turn-assistant .markdown-block').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('You stopped it here.').waitFor({ timeout: 5_000 });
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await page.getByLabel('Maximum tokens').fill('24');
    await page.getByRole('button', { name: 'Settings' }).click();
  });

  test('continues a reply that was stopped, in its own turn, and keeps the focus', async () => {
    const markdown = page.locator('.turn-assistant .markdown').last();
    const before = (await markdown.textContent()) ?? '';
    const status = page.locator('[role=status]').first();
    const asking = page.waitForRequest(/\/v1\/chat\/completions$/);
    await page.getByRole('button', { name: 'Continue', exact: true }).focus();
    await page.keyboard.press('Enter');
    expect((await asking).postDataJSON()).toMatchObject({ continue_final_message: true });
    await expect.poll(() => status.textContent(), { timeout: 120_000 }).toMatch(/^Reply: /);
    const after = (await markdown.textContent()) ?? '';
    expect(after.slice(0, before.length - 1)).toBe(before.slice(0, -1));
    expect(after.length).toBeGreaterThan(before.length);
    expect(await page.locator('.turn-assistant').count()).toBe(1);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toMatch(/^(BUTTON|TEXTAREA)$/);
    await expect(status.textContent()).resolves.not.toContain(before.trim().slice(0, 20));
  });

  test('issues itself another key when its own is revoked', async () => {
    await page.evaluate(async () => {
      const { keys } = await window.localtext;
      for (const { id } of await keys.list()) await keys.revoke(id);
    });
    await page.getByRole('button', { name: 'New chat' }).click();
    await composer().fill('Say hello.');
    await composer().press('Enter');
    await page.locator('.turn-stats').waitFor();
    await expect(page.locator('.turn .error-text').count()).resolves.toBe(0);
  });
});

test('a page asks only when the engine reports', async () => {
  const idle = await context.newPage();
  await idle.clock.install();
  await idle.goto(siteUrl);
  await idle.waitForFunction(async () => (await (await window.localtext).status()).epoch);
  const reports = await idle.evaluateHandle(async () => {
    const counted = { count: 0 };
    (await window.localtext).addEventListener('status', () => counted.count++);
    return counted;
  });
  let asked = 0;
  idle.on('request', (request) => {
    if (/\/(localtext|v1)\//.test(request.url())) asked++;
  });
  // Each timer fires once a minute; `runFor` would end waits for other threads that had no time to answer.
  for (let minute = 0; minute < 3; minute++) {
    await idle.clock.fastForward(60_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  // One more may answer a report from before the count.
  expect(asked).toBeLessThanOrEqual(1 + (await reports.evaluate(({ count }) => count)));
  await idle.close();
});

test('imports a conversation, and renders what a model wrote without running or fetching anything', async () => {
  const hostile = [
    '**bold** <script>window.ran = 1</script><img src=x onerror="window.ran = 2">',
    `![a picture](${siteUrl}/pixel.png) [a link](https://example.com) [a trap](javascript:window.ran=3)`,
    '<form action="/x"><button>b</button></form> <p style="position:fixed" id="app">p</p>',
    '# A title\n\n> ## Within a quote',
    '3. three\n4. four',
    '| left | right |\n| :-- | --: |\n| 1 | 2 |',
  ].join('\n\n');
  const stats = { firstTokenMs: null, totalMs: 1, promptTokens: null, cachedTokens: null };
  const turns = {
    u: { id: 'u', parent: null, createdAt: 1, role: 'user', content: '<b>raw</b>' },
    a: {
      id: 'a',
      parent: 'u',
      createdAt: 2,
      role: 'assistant',
      content: hostile,
      model: 'indigo-owl-4',
      problem: null,
      finishReason: 'stop',
      toolCalls: [],
      logprobs: [],
      stats: { ...stats, completionTokens: null, tokensPerSecond: null, fingerprint: null },
    },
  };
  const kept = {
    id: 'imported',
    title: 'Hostile',
    createdAt: 1,
    updatedAt: 1,
    turns,
    chosen: { '': 'u', u: 'a' },
  };
  const exported = { format: 'localtext-conversations', version: 1, conversations: [kept] };
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));

  await open('Chat');
  await page.getByRole('button', { name: 'Conversations' }).click();
  await page.getByLabel('Import').setInputFiles({
    name: 'export.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(exported)),
  });
  await page.getByText('Imported 1 conversation.').waitFor();
  await page.getByRole('button', { name: /^Hostile/ }).click();
  const reply = page.locator('.turn-assistant .markdown');
  await reply.getByText('bold').waitFor();

  await expect(reply.locator('h2').textContent()).resolves.toBe('A title');
  await expect(reply.locator('blockquote h3').textContent()).resolves.toBe('Within a quote');
  await expect(page.locator('h1').count()).resolves.toBe(1);
  await expect(reply.locator('ol').getAttribute('start')).resolves.toBe('3');
  const cells = reply.locator('td');
  const sides = cells.evaluateAll((all) =>
    all.map((cell) => getComputedStyle(cell).textAlign.replace('-webkit-', '')),
  );
  await expect(sides).resolves.toEqual(['left', 'right']);

  const selector = 'script, img, form, button, [style], [id], [onerror], a[href^="javascript"]';
  await expect(reply.locator(selector).count()).resolves.toBe(0);
  await expect(page.evaluate(() => 'ran' in window)).resolves.toBe(false);
  expect(requests.filter((url) => url.includes('pixel'))).toEqual([]);
  await expect(reply.getByText('a link').getAttribute('rel')).resolves.toBe('noopener noreferrer nofollow');
  await expect(page.locator('.bubble').textContent()).resolves.toBe('<b>raw</b>');
});

test('embeddings: its texts are closest to those of the same subject, and are found by meaning', async () => {
  await open('Embeddings');
  await page.getByRole('button', { name: 'Embed 7 texts' }).click();
  await page.locator('.matrix').waitFor();
  const rows = await page.locator('.matrix tbody tr').allTextContents();
  const figures = rows.map((row) => [...row.matchAll(/-?\d\.\d\d/g)].map(([figure]) => Number(figure)));
  expect(figures[0]?.[0]).toBeCloseTo(1, 2);
  const closest = figures.map((row, own) => row.indexOf(Math.max(...row.filter((_, at) => at !== own))));
  // Cats, a dog, bread and trains.
  expect(closest.toSpliced(2, 1)).toEqual([1, 0, 4, 3, 6, 5]);
  await page.locator('.map svg').waitFor();
  expect(await page.locator('.map style').count()).toBe(0);
  await expect(violations(page)).resolves.toEqual([]);
  const query = page.getByLabel('Query');
  await query.fill((await query.getAttribute('placeholder')) ?? '');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('.hits li').first().waitFor();
  const [first, second] = await page.locator('.hits li').allTextContents();
  expect(`${first} ${second}`).toMatch(/cat .*kitten|kitten .*cat /i);
  const map = page.getByRole('img', { name: 'Texts as points' });
  expect(await map.getAttribute('aria-label')).toContain('The table below');
  await page.getByRole('textbox', { name: 'Texts' }).fill('A cat sleeps.\n'.repeat(25));
  await page.getByRole('button', { name: 'Embed 25 texts' }).click();
  await page.getByText('The matrix is drawn for up to 24 texts.').waitFor();
  expect(await map.getAttribute('aria-label')).not.toContain('table');
});

test('keys: shown once, then listed without the key, then revoked', async () => {
  await open('Keys');
  await page.getByLabel('Application').fill('Notes');
  await page.getByRole('button', { name: 'Issue key' }).click();
  const key = (await page.locator('.new-key code').textContent()) ?? '';
  expect(key).toMatch(/^lt_/);
  const status = async () => (await send(page, key, '/v1/models')).status;
  await expect(status()).resolves.toBe(200);
  // A press beside the dialog does not close it, and a refused copy is shown in it.
  await page.mouse.click(2, 2);
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'));
  });
  await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).first().click();
  await page.getByRole('dialog').getByRole('alert').getByText('did not allow copying').waitFor();
  await page.evaluate(() => Reflect.deleteProperty(navigator.clipboard, 'writeText'));
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page.locator('main').textContent()).resolves.not.toContain(key);
  // It keeps the focus although it is disabled.
  await expect.poll(focused).toBe('Issue key');
  await page.getByRole('button', { name: 'Revoke Notes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(focused).toBe('Notes revoked');
  await expect(status()).resolves.toBe(401);
});

test('models: stored weights are listed, and deleted', async () => {
  await open('Models');
  const stored = page.getByRole('list', { name: 'Stored weights' }).getByRole('listitem');
  await stored.filter({ hasText: 'smollm2-135m-instruct-q4_1' }).waitFor();
  const miniLm = stored.filter({ hasText: 'all-minilm-l6-v2-int8' });
  await expect(miniLm.textContent()).resolves.toContain('24.1 MB for jade-mole-4');
  await miniLm.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete all-minilm-l6-v2-int8?' });
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await expect.poll(focused).toBe('Delete all-minilm-l6-v2-int8');
  expect(await stored.count()).toBe(2);
  await miniLm.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await miniLm.waitFor({ state: 'detached' });
  expect(await stored.count()).toBe(1);
  await expect.poll(focused).toContain('smollm2-135m-instruct-q4_1');
});

test('models: the four ids, speech to text and the voice, in the order of /v1/models', async () => {
  await open('Models');
  await page.locator('.model-card h2').nth(5).waitFor();
  const names = await page.locator('.model-card h2').allTextContents();
  expect(names.slice(0, 4)).toEqual(['crimson-falcon-4', 'indigo-owl-4', 'amber-phoenix-4', 'jade-mole-4']);
  expect(names.slice(4)).toEqual(['silver-lark-4', 'coral-wren-4']);
  // Only the model hub has its weights.
  const buttons = page.locator('.model-card').last().getByRole('button');
  await expect.poll(() => buttons.allTextContents()).toEqual(['Allow the model hub for coral-wren-4']);
});

describe.each(SCREENS)('$colorScheme at $width px', (screen) => {
  beforeAll(() => useScreen(page, screen));

  test.each(VIEWS)('axe finds nothing in %s, and nothing is wider than the screen', async (view) => {
    await open(view);
    await page.locator('.view-loading').waitFor({ state: 'detached' });
    await expect(violations(page)).resolves.toEqual([]);
    const options = await page.locator('.model-select option').allTextContents();
    if (screen.width < 640) expect(options.join()).not.toContain('smollm2');
  });
});
