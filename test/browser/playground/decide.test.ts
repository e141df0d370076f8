import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { violations } from '../../support/axe.ts';
import { launchWithWeights } from '../../support/stored-weights.ts';
import { openView } from '../../support/open-view.ts';

/** The playground's view for decisions, on real weights. */

let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  page = await openView(context);
  await page.goto(`${inject('siteUrl')}/#/decide`);
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const answers = () => page.getByRole('region');
const shares = async (): Promise<number[]> =>
  (await answers().getByRole('listitem').allInnerTexts()).map((text) => Number(/(\d+) %/.exec(text)?.[1]));

/** Asks for a decision after an example, which removes earlier answers. */
async function decide(): Promise<void> {
  await button('Decide').click();
  await answers().first().waitFor();
  await expect(page.locator(':focus').innerText()).resolves.toBe('Decide');
}

test('an example is answered with a bar for each choice, and axe finds no fault', async () => {
  await button('Topic').click();
  await decide();
  await expect
    .poll(() => page.locator('[role=status]').first().textContent())
    .toContain('2 questions answered');
  await expect(answers().count()).resolves.toBe(2);
  const topic = page.getByRole('region', { name: 'What is the topic of this text?' });
  const isInView = () => topic.evaluate((card) => card.getBoundingClientRect().bottom <= innerHeight);
  await expect.poll(isInView).toBe(true);
  await expect(topic.getByRole('listitem').first().innerText()).resolves.toMatch(/^sports\s+< 1 %$/);
  await expect(topic.locator('.decide-best').innerText()).resolves.toMatch(/^food\s/);
  const sum = (await shares()).reduce((total, share) => total + share, 0);
  expect(Math.abs(sum - 200)).toBeLessThan(8);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect(await violations(page)).toEqual([]);
  }
});

test.each([
  ['Review', [/^negative\s/]],
  ['Topic', [/^food\s/, /^true\s/]],
  ['Message', [/^1 star\s/, /^true\s/]],
  ['Tool', [/^translator\s/]],
])('the example "%s" is answered rightly', async (name, expected) => {
  await button(name).click();
  await decide();
  const best = await answers().locator('.decide-best').allInnerTexts();
  expect(best).toHaveLength(expected.length);
  for (const [index, answer] of expected.entries()) expect(best[index]).toMatch(answer);
});

test('questions are added, removed and changed by the keyboard alone', async () => {
  await button('Message').focus();
  await page.keyboard.press('Enter');
  // The answers belonged to another text.
  await expect(answers().count()).resolves.toBe(0);
  await button('Remove question 1').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('group', { name: /^Question \d/ }).count()).resolves.toBe(1);
  await expect(page.evaluate(() => document.activeElement?.tagName)).resolves.not.toBe('BODY');
  await button('Add a question').focus();
  await page.keyboard.press('Enter');
  const added = page.getByRole('group', { name: 'Question 2' });
  await expect(button('Decide').isDisabled()).resolves.toBe(true);
  await added.getByLabel('Type').selectOption('True or false');
  await added.getByLabel('Statement').fill('The writer is calm.');
  await added.getByLabel('Statement').press('Enter');
  await page.getByRole('region', { name: 'The writer is calm.' }).waitFor();
  await expect(answers().count()).resolves.toBe(2);
});

test('a chat model answers, too, and a score has its mean', async () => {
  await button('Message').click();
  await page.getByLabel('Model').selectOption('amber-phoenix-4');
  await decide();
  const stars = page.getByRole('region', { name: 'How many stars would the customer give?' });
  await expect(stars.getByRole('listitem').count()).resolves.toBe(5);
  await expect(stars.getByText(/^on average level [\d.]+ of 5$/).count()).resolves.toBe(1);
  expect(await violations(page)).toEqual([]);
});

test('a duplicate choice is an error beside the button', async () => {
  await button('Review').click();
  await page.getByLabel('Choices').fill('same\nsame');
  await button('Decide').click();
  await expect(page.getByRole('alert').innerText()).resolves.toContain('questions[0].choices[1].value');
});
