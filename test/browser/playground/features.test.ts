import { readFile } from 'node:fs/promises';

import type { BrowserContext, Locator, Page } from 'playwright';
import { beforeAll, beforeEach, expect, inject, test } from 'vitest';

import { violations } from '../../support/axe.ts';
import { storedConversation } from '../../support/stored-conversation.ts';
import { launchWithWeights } from '../../support/stored-weights.ts';
import { send } from '../../support/send.ts';
import { openView } from '../../support/open-view.ts';

/** What the playground's settings do to a real reply, and what may be done with a conversation. */

const siteUrl = inject('siteUrl');
const SETTINGS = 'localtext-playground:chat-settings';
const schema = {
  type: 'object',
  properties: { mode: { enum: ['on', 'off'] } },
  required: ['mode'],
  additionalProperties: false,
};
const light = { type: 'function', function: { name: 'switch_light', parameters: schema } };

let context: BrowserContext;
let page: Page;
let leader: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  // It leads: a reload of the playground takes no engine with it.
  leader = await context.newPage();
  await leader.goto(`${siteUrl}/test-page.html`);
  await leader.evaluate(() => window.localtext.then(() => undefined));
  page = await openView(context);
  await page.goto(siteUrl);
});

/** A new conversation, short and at temperature 0. */
beforeEach(async () => {
  await page.evaluate(
    ([name, settings]) => {
      localStorage.removeItem('localtext-playground:settings-open');
      localStorage.setItem(name ?? '', settings ?? '');
    },
    [SETTINGS, JSON.stringify({ system: '', examples: '', maxTokens: 8, temperature: 0 })],
  );
  await page.goto(`${siteUrl}/#/chat`);
  await page.reload();
});

const replies = () => page.locator('.turn-assistant[aria-busy="false"]');
const focusedLabel = () => page.evaluate(() => document.activeElement?.ariaLabel);
const versions = (turn: Locator) => turn.getByRole('group', { name: /^Versions, [12] of 2$/ });

async function say(text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** Changes settings in the panel, in the group of this name. */
async function inSettings(group: string, change: (panel: Locator) => Promise<unknown>): Promise<void> {
  const button = page.getByRole('button', { name: 'Settings' });
  await button.click();
  const panel = page.locator('.settings-panel');
  await button.press('Tab');
  await expect(panel.locator(':focus').count()).resolves.toBe(1);
  await panel.locator('summary', { hasText: group }).click();
  await change(panel);
  await button.click();
}

test('JSON schemas: invalid JSON is reported at its field and not sent; the reply matches the schema', async () => {
  await inSettings('Answer format', async (panel) => {
    await panel.getByLabel('Format').selectOption('JSON by a schema');
    await panel.getByLabel('JSON schema').fill('{"type":');
    await panel.locator('.field-error').waitFor();
  });
  await say('Is the light on?');
  await page.getByRole('alert').filter({ hasText: 'JSON schema is not valid JSON' }).waitFor();
  expect(await page.locator('.turn').count()).toBe(0);

  await inSettings('Answer format', async (panel) => {
    await panel.getByLabel('JSON schema').fill(JSON.stringify(schema));
    await panel.getByLabel('Maximum tokens').fill('64');
  });
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.turn-stats').waitFor();
  const reply = (await replies().first().locator('.markdown').textContent()) ?? '';
  expect(schema.properties.mode.enum).toContain((JSON.parse(reply) as { mode: string }).mode);
});

test('tools: the call is shown, its result typed, and the model continues', async () => {
  await inSettings('Tools', async (panel) => {
    await panel.getByRole('textbox', { name: 'Tools' }).fill(JSON.stringify([light]));
    await panel.getByLabel('Calling').selectOption('It must call one');
    await panel.getByLabel('Maximum tokens').fill('64');
  });
  await say('Switch the light on.');
  await page.getByText('calls switch_light').waitFor();
  const answer = page.getByLabel('What switch_light answers');
  await answer.waitFor();
  const args = JSON.parse((await page.locator('.tool-json').textContent()) ?? '') as { mode: string };
  expect(schema.properties.mode.enum).toContain(args.mode);

  await inSettings('Tools', async (panel) => {
    expect(await violations(page)).toEqual([]);
    await panel.getByLabel('Calling').selectOption('It must not');
    await panel.getByLabel('Maximum tokens').fill('8');
  });
  await answer.fill('The light is on.');
  await page.getByRole('button', { name: 'Send to the model' }).click();
  await replies().nth(1).locator('.turn-stats').waitFor();
  await expect(page.locator('.turn-tool').textContent()).resolves.toContain('The light is on.');
  await expect(page.locator('.turn .error-text').count()).resolves.toBe(0);
  expect((await replies().nth(1).locator('.markdown').textContent())?.trim().length).toBeGreaterThan(3);
});

test('probabilities: each token has its shade, and says what else it could have been', async () => {
  await inSettings('Probabilities', async (panel) => {
    await panel.getByLabel('Ask for log probabilities').check();
  });
  await say('Name a river.');
  await page.getByRole('button', { name: 'Probabilities' }).click();
  const text = page.getByRole('group', { name: 'Tokens by probability' });
  const tokens = text.locator('span');
  expect(await tokens.count()).toBe(8);
  const shades = await tokens.evaluateAll((all) => all.map((each) => getComputedStyle(each).backgroundColor));
  expect(new Set(shades).size).toBeGreaterThan(3);
  const detail = page.locator('.logprob-detail');
  expect(await violations(page)).toEqual([]);
  await tokens.nth(2).hover();
  // The token, its share, and three alternatives with theirs.
  await expect(detail.textContent()).resolves.toMatch(/^".+" [\d.]+% — ("(\\?.)*" [\d.]+%(, )?){3}$/);
  const second = await detail.textContent();
  await text.press('ArrowRight');
  await expect(detail.textContent()).resolves.not.toBe(second);
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  await page.locator('.turn-assistant .markdown').waitFor();
});

test('an edit is another version, with its own replies; both go out and come back', async () => {
  await say('Say one.');
  await replies().first().locator('.turn-stats').waitFor();
  const first = (await replies().first().locator('.markdown').textContent()) ?? '';
  await page.getByRole('button', { name: 'Edit and send as another version' }).click();
  await page.getByLabel('Edit your message').fill('Name a colour.');
  await page.getByRole('button', { name: 'Send this version' }).click();
  await page.locator('.bubble', { hasText: 'Name a colour.' }).waitFor();
  await replies().first().locator('.turn-stats').waitFor();
  const second = (await replies().first().locator('.markdown').textContent()) ?? '';
  expect(second).not.toBe(first);
  const user = page.locator('.turn-user');
  await expect(versions(user).textContent()).resolves.toContain('2/2');
  expect(await violations(page)).toEqual([]);
  await versions(user).getByRole('button', { name: 'Earlier version' }).click();
  await page.locator('.bubble', { hasText: 'Say one.' }).waitFor();
  await expect(replies().first().locator('.markdown').textContent()).resolves.toBe(first);
  await expect(focusedLabel()).resolves.toBe('Earlier version');

  await page.getByRole('button', { name: 'Conversations' }).click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as JSON' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^localtext-\d{4}-\d\d-\d\d\.json$/);
  const exported = await readFile(await download.path());
  expect(await violations(page)).toEqual([]);

  const kept = page.locator('.history-list li', { hasText: 'Say one.' });
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  const remove = async (): Promise<void> => {
    await kept.getByRole('button', { name: 'Delete' }).click();
    await kept.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('“Say one.” was deleted.');
  };
  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await kept.waitFor();
  await expect.poll(focused).toBe('“Say one.” was restored.');
  await remove();
  const importing = page.getByLabel('Import');
  await importing.setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{}') });
  await page
    .getByText('x.json cannot be imported: it is not an export of this page. Nothing was imported.')
    .waitFor();
  await importing.setInputFiles({ name: 'y.json', mimeType: 'application/json', buffer: exported });
  await page.getByText(/^Imported \d+ conversations?\.$/).waitFor();
  await kept.getByRole('button').first().click();
  await page.locator('.bubble', { hasText: 'Say one.' }).waitFor();
  await versions(user).getByRole('button', { name: 'Later version' }).click();
  await expect(replies().first().locator('.markdown').textContent()).resolves.toBe(second);
});

test('refused texts stay editable, and controls without effect are disabled', async () => {
  await say('Say one.');
  await replies().first().locator('.turn-stats').waitFor();
  await page.getByRole('button', { name: 'Edit and send as another version' }).click();
  const edit = page.getByLabel('Edit your message');
  const sendVersion = page.getByRole('button', { name: 'Send this version' });
  await edit.fill('Write a long story about the sea.');
  await inSettings('Answer format', async (panel) => {
    await panel.getByLabel('Format').selectOption('JSON by a schema');
    await panel.getByLabel('JSON schema').fill('{');
    await panel.getByLabel('Maximum tokens').fill('500');
  });
  await sendVersion.click();
  await page.getByRole('alert').filter({ hasText: 'JSON schema is not valid JSON' }).waitFor();
  expect(await edit.inputValue()).toBe('Write a long story about the sea.');
  await inSettings('Answer format', (panel) => panel.getByLabel('Format').selectOption('Text'));
  await sendVersion.click();
  await edit.waitFor({ state: 'detached' });
  await page.locator('.turn-assistant .markdown-block').first().waitFor();
  // The first text may come while Stop still takes a press for the second one of a double click on Send (400 ms).
  await page.waitForTimeout(500);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('You stopped it here.').waitFor();
  // At once: the editor must not take the focus from the message field, and with it the next text, a frame later.
  await page.getByRole('button', { name: 'Edit and send as another version' }).evaluate(async (button) => {
    (button as HTMLButtonElement).click();
    for (let microtasks = 0; microtasks < 20; microtasks++) await Promise.resolve();
    if (document.activeElement?.ariaLabel !== 'Edit your message') throw new Error('The focus comes later.');
  });
  await say('Write another one.');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await edit.press('Escape');
  await edit.waitFor({ state: 'detached' });
  expect(await page.locator('.turn-assistant[aria-busy="true"]').count()).toBe(1);

  await page.getByRole('button', { name: 'New chat' }).click();
  const starter = page.getByRole('list', { name: 'Ideas to begin with' }).getByRole('button').first();
  expect(await starter.isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect.poll(() => starter.isEnabled()).toBe(true);
  await starter.press('Enter');
  await expect.poll(focusedLabel).toBe('Message');
});

test('a double click on Send sends, and does not stop the reply', async () => {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Say one.');
  await page.getByRole('button', { name: 'Send', exact: true }).dblclick();
  await page.locator('.turn-stats').waitFor();
  expect(await page.getByText('You stopped it here.').count()).toBe(0);
  await expect(focusedLabel()).resolves.toBe('Send');
});

test('keys of an input method, as WebKit sends them, send nothing and close nothing', async () => {
  const taken = (field: Locator, key: string) =>
    field.evaluate((element, name) => {
      const event = { key: name, keyCode: 229, bubbles: true, cancelable: true };
      return !element.dispatchEvent(new KeyboardEvent('keydown', event));
    }, key);
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Say one.');
  expect(await taken(message, 'Enter')).toBe(false);
  await message.press('Enter');
  await replies().first().locator('.turn-stats').waitFor();
  await page.getByRole('button', { name: 'Edit and send as another version' }).click();
  const edit = page.getByLabel('Edit your message');
  expect(await taken(edit, 'Enter')).toBe(false);
  await taken(edit, 'Escape');
  expect(await edit.inputValue()).toBe('Say one.');
  await page.goto(`${siteUrl}/#/compare`);
  expect(await taken(page.getByRole('textbox', { name: 'Prompt for both' }), 'Enter')).toBe(false);
});

test('an import that fails says so, and the same file can be chosen again', async () => {
  await page.getByRole('button', { name: 'Conversations' }).click();
  const conversations = [storedConversation('kept', 'Hello.')];
  const text = JSON.stringify({ format: 'localtext-conversations', version: 1, conversations });
  const file = { name: 'z.json', mimeType: 'application/json', buffer: Buffer.from(text) };
  const importing = page.getByLabel('Import');
  await page.evaluate(() => {
    const { put } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.put = () => {
      throw new Error('The disk is full.');
    };
    Object.assign(window, { repair: () => Object.assign(IDBObjectStore.prototype, { put }) });
  });
  await importing.setInputFiles(file);
  await page.getByText('That failed: The disk is full.').waitFor();
  expect(await importing.inputValue()).toBe('');
  await page.evaluate(() => (window as unknown as { repair(): void }).repair());
  await importing.setInputFiles(file);
  await page.getByText('Imported 1 conversation.').waitFor();
});

test('welcome: what this device’s GPU or processor could run is offered, until it is declined', async () => {
  const tab = await context.newPage();
  const offers = tab.locator('#larger-offer');
  // A browser without a GPU, on six cores.
  await tab.addInitScript(() => {
    Object.defineProperty(navigator, 'hardwareConcurrency', { value: 6, configurable: true });
  });
  await tab.goto(`${siteUrl}/#/chat`);
  await offers.waitFor();
  expect(await offers.innerText()).toBe(
    'This device’s processor can run a larger model as indigo-owl-4: qwen2.5-0.5b-instruct-q4_k_m, 490 MB from the model hub (huggingface.co), about 39 s at 100 Mbit/s.',
  );
  // What a browser says that has a GPU.
  await tab.addInitScript(() => {
    const adapter = {
      info: { vendor: 'a maker', isFallbackAdapter: false },
      features: new Set(['shader-f16']),
      limits: {},
    };
    const requestAdapter = async (options?: object) => {
      if (options) document.documentElement.dataset['asked'] += ' once';
      return adapter;
    };
    Object.defineProperty(navigator, 'gpu', { value: { requestAdapter } });
  });
  await tab.reload();
  await offers.waitFor();
  expect(await offers.innerText()).toBe(
    'This device’s GPU can run a larger model as amber-phoenix-4: qwen3.5-0.8b-q4f16_1, 500 MB from the model hub (huggingface.co), about 40 s at 100 Mbit/s.',
  );
  expect(await violations(tab)).toEqual([]);
  await tab.goto(`${siteUrl}/#/keys`);
  await offers.waitFor({ state: 'detached' });
  await tab.goto(`${siteUrl}/#/chat`);
  await offers.waitFor();
  expect(await tab.locator('html').getAttribute('data-asked')).toBe('undefined once');
  await tab.getByRole('button', { name: 'Not now' }).click();
  await offers.waitFor({ state: 'detached' });
  await tab.reload();
  await tab.getByRole('list', { name: 'Ideas to begin with' }).waitFor();
  expect(await offers.count()).toBe(0);
  await tab.close();
});

test('models: once the hub is allowed, sizes are shown and nothing is loaded without asking', async () => {
  // Where weights may come from is for the tab to say that leads.
  await leader.close();
  const files: string[] = [];
  page.on('request', (request) => {
    if (/\/models\/.*\.(gguf|safetensors)$|huggingface/.test(request.url())) files.push(request.url());
  });
  await page.goto(`${siteUrl}/#/models`);
  const sizes = page.locator('.hub-sizes').first();
  await expect.poll(() => sizes.innerText()).toMatch(/^crimson[^]*amber-phoenix-4 up to 550 MB$/);
  expect(files).toEqual([]);
  const probe = page.waitForRequest('https://huggingface.co/api/models?limit=1');
  await page.getByRole('button', { name: 'Allow the model hub' }).click();
  await probe;
  files.length = 0;
  await page.goto(`${siteUrl}/#/chat`);
  await page.getByRole('button', { name: /^(Load amber-phoenix-4|Download .+ and start)$/ }).waitFor();
  await expect(page.locator('.load-card').count()).resolves.toBe(0);
  expect(files).toEqual([]);
  await page.goto(`${siteUrl}/#/models`);
  await page.getByRole('button', { name: 'Use this site’s weights only' }).click();
  await page.getByRole('button', { name: 'Allow the model hub' }).waitFor();
});

test('keys: a rotated key has a new secret, and the old one stays good', async () => {
  await page.goto(`${siteUrl}/#/keys`);
  const issued = page.locator('.new-key code');
  const status = async (key: string) => (await send(page, key, '/v1/models')).status;
  await page.getByLabel('Application').fill('Turning');
  await page.getByRole('button', { name: 'Issue key' }).click();
  const old = (await issued.textContent()) ?? '';
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Rotate Turning' }).click();
  await page.getByText('The old key stays valid for a day.').waitFor();
  expect(await violations(page)).toEqual([]);
  const next = (await issued.textContent()) ?? '';
  expect(next).toMatch(/^lt_/);
  expect(next).not.toBe(old);
  await expect(status(next)).resolves.toBe(200);
  await expect(status(old)).resolves.toBe(200);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('.key-row', { hasText: 'Turning' }).first().getByText('used now').waitFor();
});

test('device: the speed is measured, and can be stopped', async () => {
  await page.goto(`${siteUrl}/#/device`);
  await page.getByRole('button', { name: 'Measure tokens/s' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Measure tokens/s' }).click();
  await page.locator('.speed').waitFor();
  expect(Number.parseFloat((await page.locator('.speed').textContent()) ?? '')).toBeGreaterThan(0.5);
  await expect(page.locator('.turn-stats').textContent()).resolves.toMatch(/96 tokens/);
  await expect(page.locator('[role=status]').first().textContent()).resolves.toMatch(
    /^[\d.]+ tokens per second\.$/,
  );
});
