import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { askAddedModel } from '../../support/ask-added-model.ts';
import { qwenGguf05B } from '../../../src/catalog/hub-variants.ts';
import { violations } from '../../support/axe.ts';
import { launch } from '../../support/launch.ts';
import { ModelHub } from '../../support/model-hub.ts';
import { openPage } from '../../support/open-page.ts';
import { chatMetadata, oneTensor, writeGguf } from '../../support/write-gguf.ts';
import { AlteredSite } from '../../support/altered-site.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { GGUF } from '../../support/smollm2.ts';

/** A user who adds models of the model hub in the playground, as one would: by its name, and with real weights. */

const REPOSITORY = 'someone/SmolLM2-GGUF';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** A page that allows the hub, as the playground does once it is asked. */
const ALLOWED = { sources: { hub: true } };
const toHub = (text: string): string => text.replaceAll('https://huggingface.co', hub.url);

/** The built site, whose hub is that of the test. @param inWorker script that runs before the engine worker's */
async function siteWithHub(inWorker = ''): Promise<AlteredSite> {
  // A device that reports more cores than it has would start too many threads.
  const altered = await AlteredSite.start(inject('siteUrl'), { isolated: inWorker === '' });
  /** Hashes in the service worker's list, as the service worker keeps no script that differs from it. */
  const hashes = new Map<string, string>();
  for (const name of await readdir('dist/test-site/assets')) {
    if (!name.endsWith('.js')) continue;
    const alter = (text: string): string => (name.startsWith('worker-') ? inWorker : '') + toHub(text);
    altered.files.set(`/assets/${name}`, alter);
    const text = await readFile(`dist/test-site/assets/${name}`, 'utf8');
    hashes.set(sha256(text), sha256(alter(text)));
  }
  altered.files.set('/localtext-sw.js', (text) =>
    text.replaceAll(/[\da-f]{64}/g, (hash) => hashes.get(hash) ?? hash),
  );
  // Its policy names the hub.
  for (const path of ['/', '/index.html']) altered.files.set(path, toHub);
  return altered;
}

let hub: ModelHub;
let site: AlteredSite;
let profile: string;
let context: BrowserContext;
let page: Page;
/** Answer of the added model, by greedy choice. */
let answer: string | null | undefined;

beforeAll(async () => {
  profile = await tempFolder('own');
  hub = await ModelHub.start();
  site = await siteWithHub();
  const huge = { ...chatMetadata, 'llama.block_count': 10_000, 'llama.embedding_length': 2 ** 20 };
  hub.publish(REPOSITORY, {
    'README.md': Buffer.from('# A model'),
    'SmolLM2-135M-Q8_0.gguf': GGUF,
    'huge-F16.gguf': writeGguf({ metadata: huge, tensors: [oneTensor] }),
    'mmproj-F16.gguf': writeGguf({ metadata: chatMetadata, tensors: [oneTensor] }),
  });
  hub.publish('someone/gated', { 'a.gguf': GGUF }, { gated: true });
  context = await launch({ profile });
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
});

const card = () => page.getByRole('region', { name: 'Your own model' });

const stored = (): Promise<string[]> =>
  page.evaluate(async () => {
    const { variants } = await (await window.localtext).weights.list();
    return variants.filter(({ storedBytes }) => storedBytes > 0).map(({ variant }) => variant);
  });

async function lookUp(text: string, says: string): Promise<void> {
  await card().getByLabel('Or from the model hub, or a URL').fill(text);
  await card().getByLabel('Or from the model hub, or a URL').press('Enter');
  await card().getByText(says).waitFor();
}

test('welcome: the larger model that a processor can run is accepted, downloaded and answers', async () => {
  const cores = `Object.defineProperty(navigator, 'hardwareConcurrency', { value: 6 });`;
  const { repository = '', revision = '', files: [file = ''] = [] } = qwenGguf05B.hub ?? {};
  hub.publish(repository, { [file]: GGUF }, { commit: revision });
  const larger = await siteWithHub(cores);
  const tab = await context.newPage();
  await tab.addInitScript(cores);
  await tab.goto(larger.url);
  const offer = tab.getByRole('region', {
    name: 'This device’s processor can run a larger model as indigo-owl-4',
  });
  await offer.getByRole('button', { name: 'Allow the model hub' }).click();
  await tab.getByText('490 MB of weights are downloaded once').waitFor();
  await tab.getByRole('button', { name: 'Download 490 MB and start' }).click();
  await tab.getByText('indigo-owl-4 is loaded and runs on this device').waitFor();
  await tab.getByRole('textbox', { name: 'Message' }).fill('Hi');
  await tab.keyboard.press('Enter');
  await tab.locator('.turn-stats').waitFor();
  const { models } = await tab.evaluate(async () => (await window.localtext).status());
  expect(models.find(({ id }) => id === 'indigo-owl-4')?.fingerprint).toContain(qwenGguf05B.name);
  await tab.close();
  await larger.stop();
});

test('the model hub is contacted only once it is allowed, and its refusals are shown', async () => {
  hub.asked.length = 0;
  await page.goto(`${site.url}/#/models`);
  await lookUp('someone/gated', 'Allow the model hub first.');
  expect(hub.asked).toEqual([]);
  await card().getByRole('button', { name: 'Allow the model hub' }).click();
  // The text is kept while the page is reloaded.
  await card().getByRole('button', { name: 'Look up' }).click();
  await card().getByRole('alert').filter({ hasText: 'authors ask for consent' }).waitFor();
  await expect(page.locator(':focus').innerText()).resolves.toBe('Look up');
  await lookUp('someone/nothing', 'There is no such repository');
  await lookUp('no repository at all', 'Write owner/name, or');
  await lookUp('https://elsewhere.invalid/a.gguf', 'Give the SHA-256');
  await card().getByLabel('SHA-256 of the file').fill('a'.repeat(64));
  await card().getByRole('button', { name: 'Look up' }).click();
  await card().getByRole('alert').filter({ hasText: 'connect-src' }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test('a model of the hub: chosen, stopped, continued, and asked from another tab', async () => {
  await lookUp(`https://huggingface.co/${REPOSITORY}`, 'Show its facts');
  const offers = card().getByRole('form', { name: `Models of ${REPOSITORY}` });
  await offers.getByRole('radio', { name: /^Q8_0 145 MB/ }).check();
  expect(await offers.getByRole('radio').count()).toBe(2);
  expect(await violations(page)).toEqual([]);
  await offers.getByRole('radio', { name: /^F16/ }).check();
  await offers.getByRole('button', { name: 'Show its facts' }).click();
  await card()
    .getByText(/WebAssembly has at most|this device has about/)
    .waitFor();
  expect(await card().getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true);
  await card().getByRole('button', { name: 'Cancel' }).click();

  await lookUp(REPOSITORY, 'Show its facts');
  await offers.getByRole('radio', { name: /^Q8_0/ }).check();
  await offers.getByRole('button', { name: 'Show its facts' }).click();
  await card().getByText('llama, Q8_0').waitFor();
  await card().getByText('its own').waitFor();
  const downloads = (): string[] => hub.asked.filter((path) => /^\/cdn.*Q8_0.gguf bytes=[1-9]/.test(path));
  expect(downloads()).toEqual([]);
  await card().getByLabel('Id').fill('mine');
  hub.bytesPerSecond = 30e6;
  await card().getByRole('button', { name: 'Add', exact: true }).click();
  await expect.poll(() => downloads().length, { timeout: 30_000 }).toBeGreaterThan(5);
  await card().getByRole('button', { name: 'Stop' }).click();
  await card().getByText('kept for a week').waitFor();
  await page.getByText('of a model whose adding was stopped').waitFor();
  expect(await stored()).toContainEqual(expect.stringMatching(/^added\//));
  hub.bytesPerSecond = Infinity;

  // Pasted, this time.
  await page.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
  }, REPOSITORY);
  await offers.getByRole('radio', { name: /^Q8_0/ }).check();
  await offers.getByRole('button', { name: 'Show its facts' }).click();
  await card().getByLabel('Id').fill('mine');
  const before = new Set(downloads());
  await card().getByRole('button', { name: 'Add', exact: true }).click();
  const model = page.locator('.model-card', { has: page.getByRole('heading', { name: 'mine' }) });
  await model.getByText('added by you').waitFor();
  const again = downloads()
    .slice(before.size)
    .filter((path) => before.has(path));
  // Those that were under way.
  expect(again.length).toBeLessThan(5);
  await page.getByText('of a model whose adding was stopped').waitFor({ state: 'detached' });

  const { page: other, key } = await openPage(context, site.url, ALLOWED);
  answer = await askAddedModel(other, key, 'mine');
  expect(answer).toMatch(/\w/);
});

test('it is renamed, saved to a file, answers offline after a restart, and is removed', async () => {
  const named = (id: string) =>
    page.locator('.model-card', { has: page.getByRole('heading', { name: id, exact: true }) });
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  await named('mine').getByRole('button', { name: 'Rename' }).click();
  await named('mine').getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(focused).toBe('Manage mine');
  await named('mine').getByRole('button', { name: 'Rename' }).click();
  await named('mine').getByLabel('New id').fill('jade-mole-4');
  await named('mine').getByLabel('New id').press('Enter');
  await named('mine').getByRole('alert').getByText('is taken by another model').waitFor();
  await named('mine').getByLabel('New id').fill('renamed');
  await named('mine').getByLabel('New id').press('Enter');
  await named('renamed').waitFor();
  // No dialog can be answered here: as in browsers that have none.
  await page.evaluate(() => Reflect.deleteProperty(window, 'showSaveFilePicker'));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    named('renamed').getByRole('button', { name: 'Save as a file' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('renamed.gguf');
  expect(hub.hashOf(await download.path())).toBe(hub.hashOf(GGUF));
  const { key } = await page.evaluate(async () => (await window.localtext).keys.issue({ label: 'later' }));
  const { url } = site;
  await context.close();
  await site.stop();
  await hub.stop();

  context = await launch({ profile });
  const offline = await context.newPage();
  await offline.goto(`${url}/test-page.html`);
  await offline.evaluate(async () => void (await window.localtext));
  expect(await askAddedModel(offline, key, 'renamed')).toBe(answer);
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${url}/#/models`);
  await named('renamed').getByRole('button', { name: 'Remove' }).click();
  const question = page.getByRole('dialog', { name: 'Remove renamed?' });
  await question.getByRole('button', { name: 'Remove' }).click();
  await named('renamed').waitFor({ state: 'detached' });
  // The catalog's own variant has the same file, which stays for it.
  expect(await stored()).not.toContainEqual(expect.stringMatching(/^added/));
  await expect(askAddedModel(offline, key, 'renamed')).rejects.toThrow(/404/);
});
