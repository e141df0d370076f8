import { access, cp, mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { BrowserContext } from 'playwright';
import { inject } from 'vitest';

import { launch, type LaunchOptions } from './launch.ts';
import { removeFolder, tempFolder } from './temp-folder.ts';

interface Options extends LaunchOptions {
  /** Origin of a server that the browser is to take for the built site's: storage belongs to an origin. */
  servedBy?: string;
}

/**
 * A browser that has visited the built site: it has the service worker and the default models' weights, and nothing else.
 * For tests of what comes after, as a first visit takes some 10 s of a processor. With `servedBy`, whose files may differ,
 * it has the weights alone.
 */
export async function launchWithWeights({ servedBy, ...options }: Options = {}): Promise<BrowserContext> {
  const profile = options.profile ?? (await tempFolder('profile'));
  await cp(await profileWithWeights(), profile, {
    recursive: true,
    filter: (path) => servedBy === undefined || basename(path) !== 'Service Worker',
  });
  const { host } = new URL(inject('siteUrl'));
  const mapped =
    servedBy === undefined ? [] : [`--host-resolver-rules=MAP ${host} ${new URL(servedBy).host}`];
  const context = await launch({ ...options, profile, extraArgs: [...(options.extraArgs ?? []), ...mapped] });
  if (options.profile === undefined) context.on('close', () => void removeFolder(profile));
  return context;
}

/** Made by the first test of a run that asks for it; others wait. */
async function profileWithWeights(): Promise<string> {
  const folder = inject('profiles');
  const [making, made] = [join(folder, 'making'), join(folder, 'made')];
  while (!(await exists(made))) {
    if (!(await begins(making))) {
      await sleep(200);
      continue;
    }
    // Another may have made it between the two looks.
    if (await exists(made)) break;
    try {
      await visit(making);
      await rename(making, made);
    } catch (error) {
      await removeFolder(making);
      throw error;
    }
  }
  return made;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const begins = (folder: string): Promise<boolean> =>
  mkdir(folder).then(
    () => true,
    () => false,
  );

async function visit(profile: string): Promise<void> {
  const context = await launch({ profile });
  try {
    const page = await context.newPage();
    await page.goto(`${inject('siteUrl')}/test-page.html`);
    await page.evaluate(async () => {
      const localtext = await window.localtext;
      for (const model of ['amber-phoenix-4', 'jade-mole-4']) await localtext.ready(model);
    });
  } finally {
    await context.close();
  }
  for (const name of ['Cache', 'Code Cache']) await removeFolder(join(profile, 'Default', name));
}
