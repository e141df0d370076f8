import { readdir, readFile } from 'node:fs/promises';

import type { BrowserContext, Page, Request } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../../support/altered-site.ts';
import { SCREENS, useScreen, violations } from '../../support/axe.ts';
import { launch } from '../../support/launch.ts';
import { ModelHub } from '../../support/model-hub.ts';
import { gifOf } from '../../support/vision/image-files.ts';
import { dataUrl, PICTURES, png } from '../../support/vision/pictures.ts';
import { tinyVision } from '../../support/vision/tiny-vision.ts';
import { openView } from '../../support/open-view.ts';

/** Pictures in the playground's chat, on a model of SmolVLM's architecture with random weights in the place of the hub's. */

const MODEL = 'opal-lynx-4';
const [first = Buffer.alloc(0), second = Buffer.alloc(0), third = Buffer.alloc(0)] = PICTURES;
const SHORT_REPLIES = JSON.stringify({ system: '', examples: '', maxTokens: 4, temperature: 0 });

let hub: ModelHub;
let site: AlteredSite;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [hub, site] = await Promise.all([
    ModelHub.start(),
    AlteredSite.start(inject('siteUrl'), { isolated: true }),
  ]);
  const toHub = (text: string): string => text.replaceAll('https://huggingface.co', hub.url);
  for (const name of await readdir('dist/test-site/assets'))
    if (name.endsWith('.js')) site.files.set(`/assets/${name}`, toHub);
  // Its policy names the hub.
  for (const path of ['/', '/index.html']) site.files.set(path, toHub);
  const { model, projector } = tinyVision();
  for (const size of ['256M', '500M']) {
    const name = `SmolVLM-${size}-Instruct-Q8_0.gguf`;
    hub.publish(`ggml-org/SmolVLM-${size}-Instruct-GGUF`, { [name]: model, [`mmproj-${name}`]: projector });
  }
  context = await launch();
  await context.addInitScript((settings) => {
    // The chat loads no model unasked.
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } });
    if (!localStorage.getItem('localtext-playground:chat-settings'))
      localStorage.setItem('localtext-playground:chat-settings', settings);
  }, SHORT_REPLIES);
  page = await openView(context);
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const message = () => page.getByRole('textbox', { name: 'Message' });
const replies = () => page.locator('.turn-assistant[aria-busy="false"]');
const chosen = () => page.locator('.composer').getByRole('img');
const said = () => page.locator('.turn-user').getByRole('img');
const alertText = async (): Promise<string> => (await page.getByRole('alert').textContent()) ?? '';
const file = (name: string, buffer: Buffer, mimeType = 'image/png') => ({ name, mimeType, buffer });
const choose = (...files: ReturnType<typeof file>[]) =>
  page.locator('.composer input[type=file]').setInputFiles(files);

/** Pastes a file into the message, or drops it on the conversation. */
const give = (how: 'paste' | 'drop', picture: Buffer, name: string) =>
  page.evaluate(
    async ([kind, url, fileName]) => {
      const bytes = Uint8Array.from(atob(url.split(',')[1] ?? ''), (each) => each.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(
        new File([bytes], fileName, { type: fileName.endsWith('png') ? 'image/png' : 'audio/mpeg' }),
      );
      const options = { bubbles: true, cancelable: true };
      const event =
        kind === 'paste'
          ? new ClipboardEvent('paste', { ...options, clipboardData: transfer })
          : new DragEvent('drop', { ...options, dataTransfer: transfer });
      document.querySelector('.composer textarea')?.dispatchEvent(event);
    },
    [how, dataUrl(picture), name] as const,
  );

interface Body {
  model: string;
  messages: {
    role: string;
    content: string | { type: string; text?: string; image_url?: { url: string } }[];
  }[];
}

/** What the page asks while `work` is done. */
async function asked(work: () => Promise<void>): Promise<Body> {
  const isChat = (request: Request) =>
    request.method() === 'POST' && request.url().endsWith('/v1/chat/completions');
  const [request] = await Promise.all([page.waitForRequest(isChat), work()]);
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
  return request.postDataJSON() as Body;
}

const content = (text: string, ...pictures: Buffer[]) => [
  ...pictures.map((picture) => ({ type: 'image_url', image_url: { url: dataUrl(picture) } })),
  { type: 'text', text },
];

/** Whether each picture of the conversation is shown. */
const shown = () =>
  said().evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth > 0));

test('without a model that sees, a picture leads to the Models view, which adds one', async () => {
  await page.goto(`${site.url}/#/chat`);
  await message().waitFor();
  expect(await button('Add pictures').count()).toBe(0);
  await give('paste', first, 'first.png');
  expect(await alertText()).toBe('No model here takes pictures. The Models view adds one.');
  await give('drop', first, 'voice.mp3');
  await expect.poll(alertText).toMatch(/^A message takes text and pictures only\./);
  await page.goto(`${site.url}/#/models`);
  await button(`Add ${MODEL}`).click();
  await page.getByText(`npx localtext pull ${MODEL}`).waitFor();
  await page.getByText(/none that can run here now.*smolvlm/).waitFor();
  await button('Allow the model hub').click();
  await button('Use this site’s weights only').waitFor();
  await page.getByRole('heading', { name: MODEL }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test('another model says which one takes pictures', async () => {
  await page.goto(`${site.url}/#/chat`);
  await button('Add pictures').click();
  expect(await alertText()).toBe(`amber-phoenix-4 takes no pictures. Choose ${MODEL}.`);
  await page.locator('.chat-head select').selectOption(MODEL);
});

test('pictures are chosen, pasted, dropped, removed and sent', async () => {
  await choose(file('first.png', first), file('notes.png', Buffer.from('no picture')));
  await expect.poll(alertText).toMatch(/^notes\.png is no PNG, JPEG, WebP or GIF/);
  await give('paste', second, 'second.png');
  await give('drop', third, 'third.png');
  await expect.poll(() => chosen().count()).toBe(3);
  expect(await violations(page)).toEqual([]);
  await button('Remove picture 2, second.png').focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => chosen().count()).toBe(2);
  expect(await message().evaluate((area) => area === document.activeElement)).toBe(true);
  await message().fill('What is it?');
  const body = await asked(() => button('Send').click());
  expect(body.model).toBe(MODEL);
  expect(body.messages).toEqual([{ role: 'user', content: content('What is it?', first, third) }]);
  expect(await chosen().count()).toBe(0);
  expect(await shown()).toEqual([true, true]);
  await replies().first().waitFor();
  expect(await replies().first().locator('.error-text').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
});

test('a picture larger than models take is shrunk, and needs no words', async () => {
  await choose(
    file(
      'wide.png',
      png(3000, 300, (x) => [x % 256, 9, 9]),
    ),
  );
  await expect.poll(() => chosen().count()).toBe(1);
  const { messages } = await asked(() => button('Send').click());
  const [part, ...others] = messages.at(-1)?.content ?? [];
  expect(others).toEqual([]);
  const url = typeof part === 'object' ? part.image_url?.url : undefined;
  expect(url).toMatch(/^data:image\/jpeg;base64,/);
  const size = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = source ?? '';
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  }, url);
  expect(size).toEqual([2048, 205]);
});

test('pictures are kept: over a reload, another reply, another version, an export and an import', async () => {
  await page.reload();
  await expect.poll(shown).toEqual([true, true, true]);
  const again = await asked(() => button('Another reply').last().click());
  expect(again.messages[0]?.content).toEqual(content('What is it?', first, third));
  await page.getByRole('button', { name: 'Edit and send as another version' }).first().click();
  await page.locator('.turn-editor').getByRole('button', { name: 'Remove picture 1, first.png' }).click();
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('And now?');
  const edited = await asked(() => button('Send this version').click());
  expect(edited.messages).toEqual([{ role: 'user', content: content('And now?', third) }]);
  await button('Earlier version').first().click();
  await expect.poll(shown).toEqual([true, true, true]);

  await button('Conversations').click();
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export as JSON').click()]);
  await page.getByText('Exported 1 conversation.').waitFor();
  const exported = await readFile(await download.path());
  await button('Delete “What is it?”').click();
  await page.getByText('Nothing kept yet.').waitFor();
  const input = page.locator('dialog input[type=file]');
  const json = (buffer: Buffer) => file('chats.json', buffer, 'application/json');
  const text = exported.toString();
  await input.setInputFiles(json(Buffer.from(text.replace('data:image/png', 'data:image/svg+xml'))));
  await page.getByText(/cannot be imported: conversations\.0\.turns\..*no picture/).waitFor();
  const bomb = dataUrl(gifOf(0, 0, 65_535, 65_535), 'image/gif');
  await input.setInputFiles(json(Buffer.from(text.replace(dataUrl(third), bomb))));
  await page.getByText(/cannot be imported: a picture in it is damaged, or larger/).waitFor();
  await input.setInputFiles(json(exported));
  await page.getByText('Imported 1 conversation.').waitFor();
  await page.getByRole('button', { name: /^What is it\?/ }).click();
  await expect.poll(shown).toEqual([true, true, true]);
  const last = await asked(async () => {
    await message().fill('Once more.');
    await message().press('Enter');
  });
  expect(last.messages[0]?.content).toEqual(content('What is it?', first, third));
});

test.each(SCREENS)('$colorScheme at $width px: axe finds nothing, and nothing is wider', async (screen) => {
  await useScreen(page, screen);
  await choose(file('first.png', first), file('second.png', second));
  await expect.poll(() => chosen().count()).toBeGreaterThan(1);
  expect(await violations(page)).toEqual([]);
  const alone = await page.locator('.said:not(:has(.bubble))').boundingBox();
  const words = await page.locator('.bubble').first().boundingBox();
  const end = (box: typeof alone) => Math.round((box?.x ?? 0) + (box?.width ?? 0));
  expect(end(alone)).toBe(end(words));
  expect(end(await page.locator('.said:not(:has(.bubble)) img').boundingBox())).toBe(end(words));
  // The last words stay in view above the composer, which has grown.
  const transcript = page.getByRole('region', { name: 'Messages' });
  const below = await transcript.evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
  expect(below).toBeLessThan(2);
});
