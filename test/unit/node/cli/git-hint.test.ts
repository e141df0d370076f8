import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { defaultFolder, gitHint } from '../../../../src/node/cli/pull-command.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('a folder that git would commit is named with its line; an ignored one needs none', async () => {
  const root = await tempFolder('ignore');
  expect(gitHint('public/models', root)).toBeNull();
  spawnSync('git', ['init', '--quiet', root]);
  await mkdir(join(root, 'site'));
  await writeFile(join(root, '.gitignore'), 'dist');
  expect(gitHint('public/models', root)).toContain('add a line "public/models/" to .gitignore');
  expect(gitHint('dist/models', root)).toBeNull();
  // No line there names the folder itself, or one above it.
  for (const folder of ['.', '..', '../models'])
    expect(gitHint(folder, join(root, 'site'))).toBe(
      `git does not ignore ${folder}: take care not to commit the weights.`,
    );
});

test.each([
  ['static', ['static']],
  ['public', ['static', 'public']],
  ['public', []],
])('weights belong in %s of a project with %o', async (expected, folders) => {
  const project = await tempFolder('project');
  for (const folder of folders) await mkdir(join(project, folder));
  expect(defaultFolder(project)).toBe(`${expected}/models`);
});
