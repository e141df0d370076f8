import { expect, test } from 'vitest';

import { violations } from '../support/axe.ts';
import { launch } from '../support/launch.ts';
import { openExample } from './support/drive.ts';
import { preview } from './support/vite-server.ts';

test('read-aloud: an article is read to its end, also without the server', async () => {
  const server = await preview('read-aloud');
  const context = await launch();
  const { page, faults } = await openExample(context, server.url);
  const button = page.locator('#read');
  const marked = (text: string) => page.locator('[aria-current]', { hasText: text });
  const ready = page.getByText('Ready, also without a network.');
  await ready.waitFor({ timeout: 90_000 });
  await button.click();
  await marked('The light on the rock').waitFor({ timeout: 60_000 });
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Read aloud' }).waitFor();
  expect(await marked('').count()).toBe(0);

  await server.stop();
  await page.reload();
  await ready.waitFor({ timeout: 90_000 });
  await page.getByLabel('Speed').fill('2');
  await button.click();
  for (const text of ['In 1812', 'The tower', 'Dr. Ames', 'Today'])
    await marked(text).waitFor({ timeout: 60_000 });
  await page.getByText('Read to its end.').waitFor({ timeout: 60_000 });
  expect(faults).toEqual([]);
});
