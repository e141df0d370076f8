import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright';

/** What axe finds wrong in a page as it is now. @returns a line for each rule that is broken */
export async function violations(page: Page): Promise<string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const results = await page.evaluate(async () => {
    const { axe: checker } = window as unknown as { axe: { run(): Promise<AxeResults> } };
    return checker.run();
  });
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
