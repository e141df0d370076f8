import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import type { SiteFile } from '../../../src/base/site-file.ts';
import { markPage, marksOf } from '../../../src/node/page-mark.ts';
import { addFolder, type FileLists } from '../../../src/node/site-files.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder: string;

beforeEach(async () => {
  folder = await tempFolder('mark');
});

const SCRIPT = '<script src="/assets/app-1a2b3c4d.js"></script>';
const page = (text: string, head = SCRIPT): string =>
  `<!doctype html><html><head>${head}</head><body>${text}</body></html>`;

/** Lists the folder with this page in it, as `localtext init --offline` does. */
async function listPage(html: string | Buffer): Promise<{ listed: SiteFile; written: string }> {
  const path = join(folder, 'index.html');
  await writeFile(path, html);
  const files: FileLists = { shell: [], large: [] };
  const marked = new Map<string, Buffer>();
  await addFolder(files, folder, { skip: (each) => each !== path, marked });
  return { listed: files.shell[0] as SiteFile, written: (marked.get(path) ?? html).toString() };
}

const hasMarks = ({ marks }: SiteFile, html: string): boolean =>
  marks?.every((mark) => html.includes(mark)) ?? false;

test('a long data: URL does not hold up the search for the names that a page loads', () => {
  const data = `<img src="data:image/png;base64,${'A'.repeat(1e6)}" alt=""><img src="data:,${'a-1aaaaaaaa'.repeat(1e5)}">`;
  expect(marksOf(page(data))).toEqual(['app-1a2b3c4d.js', '</html>']);
});

test("an earlier build's page that loads the same files is not this build's", async () => {
  const before = await listPage(page('earlier text'));
  const now = await listPage(page('later text'));
  expect(hasMarks(now.listed, now.written)).toBe(true);
  expect(hasMarks(now.listed, before.written)).toBe(false);
});

test('a page that is listed again keeps its mark, and gets another one when it changes', async () => {
  const first = await listPage(page('text'));
  expect(first.written).toContain('<head><meta name="localtext-page"');
  expect(await listPage(first.written)).toEqual(first);
  const { written } = await listPage(first.written.replace('text<', 'other text<'));
  expect(written.match(/localtext-page/g)).toHaveLength(1);
  expect(hasMarks(first.listed, written)).toBe(false);
});

test("a page of the Vite plugin's keeps its mark", async () => {
  const marked = markPage(page('ä text'), 'build');
  expect((await listPage(marked)).written).toBe(marked);
});

test.each([
  ['loads no files of a bundler', page('text', '<script src="app.js"></script>')],
  ['has another encoding than UTF-8', Buffer.from(page('ä'), 'latin1')],
])('a page that %s is left as it is', async (_, html) => {
  const { written } = await listPage(html);
  expect(written).toBe(html.toString());
});

test.each(['.br', '.gz'])('a page with a compressed copy (%s) is left as it is', async (end) => {
  await writeFile(join(folder, `index.html${end}`), '');
  const { listed, written } = await listPage(page('text'));
  expect(written).toBe(page('text'));
  expect(listed.marks).toEqual(['app-1a2b3c4d.js', '</html>']);
});
