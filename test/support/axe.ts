import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright';

/** A desktop's and a phone's screen, one of each color scheme. */
export const SCREENS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
] as const;

export async function useScreen(page: Page, { colorScheme, width }: (typeof SCREENS)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height: 780 });
}

/** What axe finds wrong in a page as it is now, and `wide` where the page is wider than the screen. */
export async function violations(page: Page): Promise<string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const results = await page.evaluate(async () => {
    const { axe: checker } = window as unknown as { axe: { run(): Promise<AxeResults> } };
    return checker.run();
  });
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  const found = results.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  );
  return isWide ? [...found, 'wide'] : found;
}
