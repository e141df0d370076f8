import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../../support/altered-site.ts';
import { SCREENS, useScreen, violations } from '../../support/axe.ts';
import { launch } from '../../support/launch.ts';
import { clipPath, serveWhisper } from '../../support/speech/speech-model.ts';
import { storedConversation } from '../../support/stored-conversation.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { openView } from '../../support/open-view.ts';

/** The playground speaks, on the real weights of a voice, and talks with a microphone that hears a sentence now and then. */

/** The model answers meanwhile. */
const SILENCE_SECONDS = 20;
const REPLY = 'The first sentence is here. **This** is the second one. And this is the end of it.';
let site: AlteredSite;
let folder: string;
let context: BrowserContext;
let page: Page;

/** Silence, and the clip's 16-bit samples at 16 kHz. Chromium begins the file for each microphone that is opened, and repeats it. */
async function withSilence(path: string): Promise<void> {
  const clip = await readFile(clipPath('sentence.wav'));
  const start = clip.indexOf('data') + 8;
  const silence = Buffer.alloc(SILENCE_SECONDS * 32_000);
  const whole = Buffer.concat([clip.subarray(0, start), silence, clip.subarray(start)]);
  whole.writeUInt32LE(whole.length - 8, 4);
  whole.writeUInt32LE(whole.length - start, start - 4);
  await writeFile(path, whole);
}

beforeAll(async () => {
  folder = await tempFolder('voice');
  await withSilence(join(folder, 'now-and-then.wav'));
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  context = await launch({
    extraArgs: [
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${join(folder, 'now-and-then.wav')}`,
    ],
  });
  await context.grantPermissions(['microphone']);
  await context.addInitScript(() => {
    // The chat loads no model unasked.
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } });
    const chat = JSON.stringify({ system: 'You are a helpful assistant.', maxTokens: 20, temperature: 0 });
    localStorage.setItem('localtext-playground:chat-settings', chat);
  });
  page = await openView(context);
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const lines = () => page.getByRole('list', { name: 'Sentences' }).getByRole('listitem');
const caption = () => page.getByRole('group', { name: 'Speech', exact: true });

test('the view speaks a sample at one press, shows the sentence that is heard, and saves the sound', async () => {
  await page.goto(`${site.url}/#/speech`);
  await page.getByText('The first time, silver-lark-4 (13.6 MB) is downloaded.').waitFor();
  await button('A story').click();
  await lines().filter({ hasText: 'before sunrise' }).and(page.locator('[aria-current]')).waitFor();
  expect(await violations(page)).toEqual([]);
  await lines().filter({ hasText: 'the fog came' }).and(page.locator('[aria-current]')).waitFor();
  await button('Pause').click();
  await button('Continue').click();
  await page.keyboard.press('Escape');
  await button('Speak').waitFor();
  expect(await lines().count()).toBe(0);

  await page.getByRole('textbox', { name: 'Text' }).fill('One short sentence.');
  await button('Speak').click();
  await button('Stop speaking').waitFor();
  // It ends by itself.
  await button('Speak').waitFor();

  const [download] = await Promise.all([page.waitForEvent('download'), button('Save as .mp3').click()]);
  expect(download.suggestedFilename()).toBe('speech.mp3');
  expect((await readFile(await download.path())).length).toBeGreaterThan(5000);
  await page.getByText('As code').click();
  await page.getByText('client.audio.speech.create(').waitFor();
  await page.getByRole('textbox', { name: 'Text' }).fill('你好');
  await button('Speak').click();
  await page.getByRole('alert').getByText('cannot be spoken').waitFor();
});

test('a reply is spoken: its sentences as captions, Escape stops it', async () => {
  await page.goto(`${site.url}/#/chat`);
  await page.reload();
  await button('Conversations').click();
  const conversations = [storedConversation('Spoken', REPLY)];
  const file = Buffer.from(JSON.stringify({ format: 'localtext-conversations', version: 1, conversations }));
  await page
    .getByRole('dialog')
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: file });
  await page.getByRole('dialog').getByText('Spoken').first().click();
  await button('Speak the reply').click();
  await caption().getByText('The first sentence is here.').waitFor();
  expect(await violations(page)).toEqual([]);
  await caption().getByText('This is the second one.').waitFor();
  await page.keyboard.press('Escape');
  await caption().waitFor({ state: 'detached' });
  await button('Speak the reply').waitFor();
});

test('a conversation by voice: heard, answered, spoken, interrupted by speaking, ended by Escape', async () => {
  await serveWhisper(site);
  await page.goto(`${site.url}/#/chat`);
  await page.reload();
  await page.evaluate(async () => {
    const localtext = await window.localtext;
    for (const id of ['amber-phoenix-4', 'coral-wren-4', 'silver-lark-4']) await localtext.ready(id);
  });
  await button('Talk').click();
  const bar = page.getByRole('group', { name: 'Conversation by voice' });
  await bar.waitFor();
  expect(await violations(page)).toEqual([]);
  const said = page.locator('.turn-user', { hasText: /boat left the harbor/i });
  await said.first().waitFor({ timeout: 120_000 });
  await bar.getByText('Speaking. Speak to interrupt.').waitFor({ timeout: 120_000 });
  expect(await violations(page)).toEqual([]);
  // The microphone hears the sentence again, during the reply or after it.
  await said.nth(1).waitFor({ timeout: 120_000 });
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'detached' });
  await button('Talk').waitFor();
});

test.each(SCREENS)('$colorScheme at $width px: axe finds nothing, and nothing is wider', async (screen) => {
  await useScreen(page, screen);
  await page.goto(`${site.url}/#/speech`);
  await button('Numbers').click();
  await lines().first().waitFor();
  expect(await violations(page)).toEqual([]);
});
