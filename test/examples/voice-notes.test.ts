import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { expect, inject, onTestFinished, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { clipPath, whisperFiles } from '../support/speech/speech-model.ts';
import { freePort } from '../support/static-site.ts';
import { openExample } from './support/drive.ts';
import { startVite } from './support/vite-server.ts';
import { run } from './support/workspace.ts';

const SENTENCE = 'The boat left the harbor before sunrise.';
const OTHER = { text: 'Another note', vector: Array<number>(384).fill(0) };

/** The default models' weights, and those of speech, in a folder that is served. */
async function addModels(site: string): Promise<void> {
  const folder = join(site, 'models');
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir('public/models', { withFileTypes: true }))
    if (entry.isDirectory())
      await symlink(resolve('public/models', entry.name), join(folder, entry.name), 'junction');
  const manifest = JSON.parse(await readFile('public/models/manifest.json', 'utf8')) as {
    files: Record<string, object>;
  };
  for (const [name, bytes] of Object.entries(await whisperFiles())) {
    const path = `whisper-tiny/${name}`;
    manifest.files[path] = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
}

test('voice-notes: what was said is written down and found by its meaning, also without the server', async () => {
  const folder = join(inject('examples'), 'voice-notes');
  await run(folder, 'npm', 'run', 'build');
  await addModels(join(folder, 'public'));
  const server = await startVite(folder, 'preview', await freePort());
  const context = await launch({
    extraArgs: [
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${clipPath('sentence.wav')}`,
    ],
  });
  await context.grantPermissions(['microphone']);
  const { page, faults } = await openExample(context, server.url);
  await page.evaluate((note) => localStorage.setItem('voice-notes:notes', JSON.stringify([note])), OTHER);
  await page.reload();
  const notes = page.locator('li');
  const record = async (): Promise<void> => {
    await page.getByText('Ready, also without a network.').waitFor({ timeout: 90_000 });
    await page.getByRole('button', { name: 'Record' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    // Two rounds of the sentence: wherever the recording begins, one is complete.
    await page.waitForTimeout(5500);
    const before = await notes.count();
    await page.getByRole('button', { name: 'Stop' }).click();
    await notes.nth(before).waitFor({ timeout: 60_000 });
  };
  await record();
  expect(await notes.first().innerText()).toContain(SENTENCE.slice(4, -1));

  await server.stop();
  await page.reload();
  await record();
  expect(await notes.count()).toBe(3);
  await page.evaluate((note) => {
    const saved = JSON.parse(localStorage.getItem('voice-notes:notes') ?? '[]') as { text: string }[];
    const spoken = saved.filter(({ text }) => text !== note.text);
    localStorage.setItem('voice-notes:notes', JSON.stringify([note, ...spoken]));
  }, OTHER);
  await page.reload();
  await page.getByText('Ready, also without a network.').waitFor({ timeout: 90_000 });
  expect(await notes.first().innerText()).toBe(OTHER.text);
  await page.getByRole('searchbox').fill('a ship');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('li:first-child', { hasText: 'boat' }).waitFor();
  expect(faults).toEqual([]);
});
