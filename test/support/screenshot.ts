import { mkdir, writeFile } from 'node:fs/promises';
import type { Page } from 'playwright';
import { build } from 'vite';

import { launch } from './launch.ts';
import { StaticSite } from './static-site.ts';

/** Starters of the chat, which the smallest model answers well. */
const QUESTIONS = ['Write a sentence about the sea.', 'Explain what a web browser is in one sentence.'];
/** A seed: the same picture each time. */
const SETTINGS = JSON.stringify({ maxTokens: 80, seed: 1 });

/** WebP: a tenth of the PNG's size. Chromium encodes it. */
async function saveWebP(page: Page, path: string): Promise<void> {
  const png = (await page.screenshot()).toString('base64');
  const webp = await page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.85 });
    return [...new Uint8Array(await blob.arrayBuffer())];
  }, png);
  await writeFile(path, new Uint8Array(webp));
}

/** Chats with the real model in the built playground, and saves a picture in each colour scheme. */
export async function takeScreenshots(folder: string): Promise<void> {
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  const site = await StaticSite.start();
  const context = await launch();
  try {
    await context.addInitScript((settings) => {
      localStorage.setItem('localtext-playground:chat-settings', settings);
    }, SETTINGS);
    const page = await context.newPage();
    page.setDefaultTimeout(150_000);
    await page.setViewportSize({ width: 1000, height: 640 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(site.url);
    for (const [index, question] of QUESTIONS.entries()) {
      const composer = page.getByRole('textbox', { name: 'Message' });
      await composer.fill(question);
      await composer.press('Enter');
      await page.locator('.turn-assistant[aria-busy="false"]').nth(index).waitFor();
    }
    await mkdir(folder, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await saveWebP(page, `${folder}/playground-${colorScheme}.webp`);
    }
  } finally {
    await context.close();
    await site.stop();
  }
}
