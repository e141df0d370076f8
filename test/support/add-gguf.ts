import type { Page } from 'playwright';

/** Adds a model's GGUF files to the page's models as a user does. @returns what `inspect()` says of them, and its id */
export async function addGguf(page: Page, paths: string | string[], id?: string) {
  await page.evaluate(() =>
    document.body.replaceChildren(
      Object.assign(document.createElement('input'), { type: 'file', multiple: true }),
    ),
  );
  await page.locator('input[type=file]').setInputFiles(paths);
  return page.evaluate(async (name) => {
    const { models } = await window.localtext;
    const files = [...(document.querySelector('input')?.files ?? [])];
    const details = await models.inspect(files);
    const added = await models.add(files, name === undefined ? {} : { id: name });
    return { ...details, id: added.id };
  }, id);
}
