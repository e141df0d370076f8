import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';

import { extensionId } from '../support/extension-id.ts';
import { firstLayers } from '../support/first-layers.ts';
import { publishHubModels, standIns } from '../support/hub-mirror.ts';
import { launch } from '../support/launch.ts';
import { ModelHub } from '../support/model-hub.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { ask, openExample } from './support/drive.ts';
import { run } from './support/workspace.ts';

const CHAT = 'smollm2-135m-instruct/SmolLM2-135M-Instruct';

/** Builds the example, and loads a copy of it unpacked. `open` opens its panel in a tab. */
async function load(change: (folder: string) => Promise<void>) {
  const example = join(inject('examples'), 'chrome-extension');
  await run(example, 'npm', 'run', 'build');
  const folder = await tempFolder('extension');
  await cp(join(example, 'extension'), folder, { recursive: true });
  await change(folder);
  const context = await launch({
    extraArgs: [`--load-extension=${folder}`, `--disable-extensions-except=${folder}`],
  });
  return { open: () => openExample(context, `chrome-extension://${extensionId(folder)}/panel.html`) };
}

/** The page in which the engine runs. */
const leaderOf = (page: Page): Promise<string | undefined> =>
  page.evaluate(async () => {
    const { held = [] } = await navigator.locks.query();
    return held.flatMap(({ name }) => /localtext:leader:.*\/(\w+\.html)/.exec(name ?? '')?.[1] ?? [])[0];
  });

test('chrome-extension: streams with the weights of its package, while its background worker stops', async () => {
  const { open } = await load(async (folder) => {
    const models = join(folder, 'models');
    await mkdir(join(models, CHAT, '..'), { recursive: true });
    for (const name of ['manifest.json', `${CHAT}.Q4_1.gguf`])
      await cp(join('public/models', name), join(models, name));
  });
  const { page, faults } = await open();
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(await leaderOf(page)).toBe('engine.html');
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  await page.locator('input[name=prompt]').fill('Tell a long story about the sea.');
  await page.getByRole('button', { name: 'Ask' }).click();
  const shown = page.locator('.reply');
  await shown.filter({ hasText: /\w/ }).waitFor();
  await stopServiceWorker(page);
  const text = await shown.innerText();
  await page.getByText('The reply is complete.').waitFor({ timeout: 60_000 });
  expect((await shown.innerText()).length).toBeGreaterThan(text.length);
  // The engine outlives the panel: another one asks without a load.
  await page.close();
  const again = await open();
  await again.page.getByText('amber-phoenix-4 is ready').waitFor();
  expect(await ask(again.page)).toMatch(/\w{3}/);
  expect([...faults, ...again.faults]).toEqual([]);
});

test('chrome-extension: a model of the hub is downloaded on first use', async () => {
  const hub = await ModelHub.start();
  const model = 'lfm2.5-350m';
  const [path = ''] = Object.keys(standIns.find((each) => each.model.id === model)?.files ?? {});
  const weights = await firstLayers(`public/models/${CHAT}.Q8_0.gguf`, 2);
  const catalog = publishHubModels(hub, { contents: { [path]: weights } });
  const { open } = await load(async (folder) => {
    const options = JSON.stringify({ catalog, sources: { hub: hub.url } });
    await writeFile(
      join(folder, 'options.js'),
      `export const MODEL = '${model}'; export const options = ${options};`,
    );
    const manifest = join(folder, 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(manifest, text.replace('https://huggingface.co', hub.url));
  });
  const { page } = await open();
  expect(await ask(page)).toMatch(/\S/);
  expect(await page.locator('output').innerText()).toBe('The reply is complete.');
});
