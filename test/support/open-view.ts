import type { BrowserContext, Page } from 'playwright';

import { atEnd } from './at-end.ts';

/** A page of the playground; the file fails if it throws an error that nothing catches. */
export async function openView(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  atEnd(() => {
    if (errors[0]) throw errors[0];
  });
  return page;
}
