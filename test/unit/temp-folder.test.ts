import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { removeFolder, removeLeftFolders, tempFolder } from '../support/temp-folder.ts';

test('of the folders of tests, those are deleted whose process has ended', async () => {
  const parent = await tempFolder('left');
  onTestFinished(() => removeFolder(parent));
  const { pid } = spawnSync(process.execPath, ['--version']);
  const kept = [basename(parent), 'localtext-test-of-a-user', `other-${pid}-profile`];
  for (const name of [...kept, `localtext-test-${pid}-profile-a1b2c3`])
    await mkdir(join(parent, name, 'Default'), { recursive: true });
  await removeLeftFolders(parent);
  expect(new Set(await readdir(parent))).toEqual(new Set(kept));
});
