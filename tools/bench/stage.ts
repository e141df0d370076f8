import type { BrowserContext, Page } from 'playwright';

import { launch } from '../../test/support/launch.ts';
import { StaticSite } from '../../test/support/static-site.ts';

/** What is compared runs on the processor: a GPU would be another run. */
export const NO_GPU = ['--disable-blink-features=WebGPU'];

/** Stage of the measured rows: one page of the built site, in its own browser. */
export interface Stage {
  context: BrowserContext;
  page: Page;
  site: StaticSite;
  rounds: number;
  /** Version of the browser. */
  version: string;
  /** A page in which nothing has happened; its service worker and the stored weights stay. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export async function openBenchPage(
  context: BrowserContext,
  site: StaticSite,
): Promise<Pick<Stage, 'page' | 'reload'>> {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
  page.on('crash', () => console.error('the page crashed'));
  const reload = async (): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${site.url}/bench-page.html`);
  };
  await reload();
  return { page, reload };
}

export async function openStage(rounds: number): Promise<Stage> {
  const site = await StaticSite.start();
  const context = await launch({ extraArgs: NO_GPU });
  const { page, reload } = await openBenchPage(context, site);
  return {
    context,
    page,
    site,
    rounds,
    version: context.browser()?.version() ?? 'of an unknown version',
    reload,
    async close() {
      await context.close();
      await site.stop();
    },
  };
}
