import type { Page } from 'playwright';

/** Adds a GGUF file to the page's models as a user does. @returns what `inspect()` says of it, and its id */
export async function addGguf(page: Page, path: string, id?: string) {
  await page.evaluate(() =>
    document.body.replaceChildren(Object.assign(document.createElement('input'), { type: 'file' })),
  );
  await page.locator('input[type=file]').setInputFiles(path);
  return page.evaluate(async (name) => {
    const { models } = await window.localtext;
    const files = [...(document.querySelector('input')?.files ?? [])];
    const details = await models.inspect(files);
    const added = await models.add(files, name === undefined ? {} : { id: name });
    return { ...details, id: added.id };
  }, id);
}
