import { execFileSync, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { removeFolder, tempFolder } from '../../support/temp-folder.ts';

/** Runs the check on one file. @returns its faults */
async function faultsOf(name: string, text: string): Promise<string[]> {
  const folder = await tempFolder('words');
  onTestFinished(() => removeFolder(folder));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  await writeFile(join(folder, name), text);
  const { status, stderr } = spawnSync(process.execPath, [resolve('scripts/words.mjs')], {
    cwd: folder,
    encoding: 'utf8',
  });
  const faults = stderr.split('\n').filter(Boolean);
  expect(status).toBe(faults.length > 0 ? 1 : 0);
  return faults;
}

test.each([
  ['/** Of the answer alone. */', 1],
  ['  /**\n   * Where it stands.\n   */', 1],
  ['const a = 1;\n/** Until\n * then. */', 2],
])('a doc comment without a subject is a fault: %j', async (comment, line) => {
  const opening = /\w+/.exec(comment.slice(comment.indexOf('/**')))?.[0];
  expect(await faultsOf('a.ts', comment)).toEqual([
    expect.stringContaining(`a.ts:${line}: a doc comment that begins with "${opening}"`),
  ]);
});

test.each(['/** Size in bytes. */', '/** In-memory files. */', '/** Offset. */', '// Of the answer alone.'])(
  'no fault: %j',
  async (comment) => {
    expect(await faultsOf('a.ts', comment)).toEqual([]);
  },
);

test('a word of the list is a fault, and a long comment', async () => {
  const word = ['a', 'new'].join('');
  expect(await faultsOf('a.ts', `/** Renders it ${word}. */\n// ${'long '.repeat(61)}\n`)).toEqual([
    `a.ts:1: "${word}". Use: again`,
    'a.ts:2: a comment of 61 words. The limit is 60.',
  ]);
});
