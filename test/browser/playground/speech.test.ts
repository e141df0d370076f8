import { readFile } from 'node:fs/promises';

import type { BrowserContext, Download, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../../support/altered-site.ts';
import { SCREENS, useScreen, violations } from '../../support/axe.ts';
import { launch } from '../../support/launch.ts';
import { clipPath, SENTENCES, serveWhisper, wordErrorRate } from '../../support/speech/speech-model.ts';
import { openView } from '../../support/open-view.ts';

/** Speech to text in the playground, on the real weights of Whisper tiny.en and with a microphone that hears a wav file. */

const SENTENCE = 'The boat left the harbor before sunrise.';
let site: AlteredSite;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  context = await launch({
    extraArgs: [
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${clipPath('sentence.wav')}`,
    ],
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await context.addInitScript(() => {
    // The chat loads no model unasked.
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } });
    const seen = window as unknown as { streams: MediaStream[] };
    seen.streams = [];
    const { mediaDevices } = navigator;
    const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (constraints) => {
      const stream = await getUserMedia(constraints);
      seen.streams.push(stream);
      return stream;
    };
  });
  page = await openView(context);
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const segments = () => page.getByRole('list', { name: 'Segments' }).getByRole('button');
/** Whether each microphone that was opened is still on. */
const microphones = () =>
  page.evaluate(() => (window as unknown as { streams: MediaStream[] }).streams.map(({ active }) => active));

const contentOf = async (download: Download): Promise<string> => readFile(await download.path(), 'utf8');

test('without the weights on the site, a press on the sample allows the model hub and asks it', async () => {
  await page.goto(`${site.url}/#/speech`);
  await page.getByText(/coral-wren-4 \(about 45\.0 MB\) is downloaded from the model hub/).waitFor();
  await page.getByText('For a site of your own').click();
  await page.getByText('npx localtext pull coral-wren-4').waitFor();
  expect(await violations(page)).toEqual([]);
  await button('Try a sample').click();
  await page.getByRole('heading', { name: 'Sample.wav' }).waitFor();
  await page.getByRole('button', { name: 'Try again coral-wren-4' }).waitFor({ timeout: 60_000 });
  expect(await violations(page)).toEqual([]);
  await page.evaluate(() => localStorage.removeItem('localtext-playground:model-hub'));
  await page.goto(`${site.url}/#/chat`);
  await page.reload();
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  expect(await button('Dictate').count()).toBe(0);
});

test('a sample is transcribed by one press', async () => {
  await serveWhisper(site);
  await page.goto(`${site.url}/#/speech`);
  await page.reload();
  await button('Try a sample').click();
  await button('Copy').waitFor({ timeout: 120_000 });
  await expect(page.locator('main').innerText()).resolves.toMatch(/^Transcribe$[^]*left the harbor/im);
  expect(await button('Copy').evaluate((copy) => copy.getBoundingClientRect().bottom <= innerHeight)).toBe(
    true,
  );
});

test('a file: segments that play, the text, and files of it', async () => {
  await serveWhisper(site);
  await page.goto(`${site.url}/#/speech`);
  await page.reload();
  await button('Record').waitFor();
  await page.locator('main input[type=file]').setInputFiles(clipPath('sentences.ogg'));
  await page.getByRole('progressbar', { name: 'Transcribing' }).waitFor();
  await button('Copy').waitFor({ timeout: 120_000 });
  // The first part of it is shown before the rest is transcribed.
  await page
    .getByRole('progressbar', { name: 'Transcribing' })
    .and(page.locator('[aria-valuenow]'))
    .waitFor();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  await button('Copy').click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  // Without the context of the part before it, numbers come as digits, which count as errors.
  expect(wordErrorRate(SENTENCES, text)).toBeLessThan(0.06);
  expect(await segments().count()).toBeGreaterThanOrEqual(14);
  expect(await violations(page)).toEqual([]);

  // By faster-whisper, it begins at 26.5 s.
  const eighth = segments().filter({ hasText: 'He opened the window' });
  await eighth.click();
  await page.locator('.segment[aria-current]').filter({ hasText: 'He opened' }).waitFor();
  const player = await page
    .locator('audio')
    .evaluate((audio: HTMLAudioElement) => ({ paused: audio.paused, at: audio.currentTime }));
  expect(player.paused).toBe(false);
  expect(Math.abs(player.at - 26.5)).toBeLessThan(1);
  await page.locator('audio').evaluate((audio: HTMLAudioElement) => audio.pause());

  const saved = async (name: string): Promise<Download> => {
    const [download] = await Promise.all([page.waitForEvent('download'), button(name).click()]);
    return download;
  };
  const srt = await saved('Save as .srt');
  expect(srt.suggestedFilename()).toBe('sentences.srt');
  expect(await contentOf(srt)).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nThe boat left/);
  expect(await contentOf(await saved('Save as .txt'))).toBe(`${text}\n`);
});

test('a transcription is cancelled, and begun again', async () => {
  await page.evaluate(() => {
    const { prototype } = OfflineAudioContext;
    const decode = prototype.decodeAudioData;
    prototype.decodeAudioData = async function (...args) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return decode.apply(this, args);
    };
  });
  await page.locator('main input[type=file]').setInputFiles(clipPath('sentences.ogg'));
  await button('Cancel').hover();
  await page.mouse.down();
  await page.getByText('reading the file').waitFor({ state: 'detached' });
  // The button has not moved meanwhile.
  await page.mouse.up();
  await button('Transcribe again').waitFor();
  expect(await segments().count()).toBe(0);
  await page
    .locator('main input[type=file]')
    .setInputFiles({ name: 'notes.mp3', mimeType: 'audio/mpeg', buffer: Buffer.from('no sound') });
  await page.getByRole('alert').getByText('`file` is damaged, or not in a format').waitFor();
});

test('a recording is cancelled by Escape, or stopped and transcribed', async () => {
  await context.grantPermissions(['microphone']);
  await button('Record').click();
  await page.locator('.level-meter .lit').first().waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await button('Record').click();
  await page.waitForTimeout(1500);
  await button('Stop and transcribe').click();
  await page.getByRole('heading', { name: /^Recording .*\.wav$/ }).waitFor();
  await segments().or(page.getByText('No speech was recognized.')).first().waitFor();
  expect(await microphones()).toEqual([false, false]);
});

test('the composer’s microphone: asked for when pressed, cancelled by Escape, its words inserted', async () => {
  await page.goto(`${site.url}/#/chat`);
  await button('Dictate').waitFor();
  await page.evaluate(() => ((window as unknown as { streams: MediaStream[] }).streams = []));
  const message = page.getByRole('textbox', { name: 'Message' });

  await context.clearPermissions();
  await button('Dictate').click();
  await page.getByRole('alert').getByText('The browser did not allow the microphone.').waitFor();
  expect(await microphones()).toEqual([]);
  await context.grantPermissions(['microphone']);

  await message.fill('He said:');
  await button('Dictate').click();
  await button('Stop recording').waitFor();
  expect(await microphones()).toEqual([true]);
  await page.locator('.level-meter .lit').first().waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await button('Dictate').waitFor();
  expect(await microphones()).toEqual([false]);
  expect(await message.inputValue()).toBe('He said:');

  await button('Dictate').click();
  await button('Stop recording').waitFor();
  // Two rounds of the sentence: wherever the recording begins, one is complete.
  await page.waitForTimeout(5500);
  await button('Stop recording').click();
  await expect.poll(() => message.inputValue(), { timeout: 60_000 }).toContain(SENTENCE.slice(4, -1));
  expect(await message.inputValue()).toMatch(/^He said: \w/);
  expect(await message.evaluate((area) => area === document.activeElement)).toBe(true);
  expect(await microphones()).toEqual([false, false]);
});

test.each(SCREENS)('$colorScheme at $width px: axe finds nothing, and nothing is wider', async (screen) => {
  await useScreen(page, screen);
  for (const view of ['speech', 'chat']) {
    await page.goto(`${site.url}/#/${view}`);
    await page.locator('.player, .dictation').first().waitFor();
    expect(await violations(page)).toEqual([]);
  }
});
