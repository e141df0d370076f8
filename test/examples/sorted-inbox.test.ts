import { expect, test } from 'vitest';

import { violations } from '../support/axe.ts';
import { launch } from '../support/launch.ts';
import { openExample } from './support/drive.ts';
import { preview } from './support/vite-server.ts';

/** Minimum of 24 mails. The weights sort 23. */
const LEAST_RIGHT = 21;

test('sorted-inbox: most mails are sorted as they are labelled, also without the server', async () => {
  const server = await preview('sorted-inbox');
  const context = await launch();
  const { page, faults } = await openExample(context, server.url);
  const sorted = async (): Promise<number> => {
    const text = await page.getByText('as a person did').innerText({ timeout: 90_000 });
    return Number(/^\d+/.exec(text)?.[0]);
  };
  expect(await sorted()).toBeGreaterThanOrEqual(LEAST_RIGHT);
  expect(await violations(page)).toEqual([]);

  await server.stop();
  await page.reload();
  expect(await sorted()).toBeGreaterThanOrEqual(LEAST_RIGHT);
  await page.getByRole('textbox', { name: 'A new mail' }).fill('My parcel has not arrived yet.');
  await page.getByRole('button', { name: 'Receive' }).click();
  await page.getByText('Sorted into orders.').waitFor();
  expect(faults).toEqual([]);
});
