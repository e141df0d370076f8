import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { offerToIgnore } from '../../../../src/node/cli/offers.ts';
import { fakeTerminal, realTerminal } from '../fake-terminal.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const { signal } = new AbortController();
let root: string;
let said: string;

beforeEach(async () => {
  said = '';
  root = await tempFolder('ignore');
  spawnSync('git', ['init', '--quiet', root]);
  await writeFile(join(root, '.gitignore'), 'dist');
  vi.stubEnv('CI', '');
});

afterEach(async () => {
  realTerminal();
});

const ignored = (): Promise<string> => readFile(join(root, '.gitignore'), 'utf8');
const terminal = (answer: string): void => fakeTerminal(answer, (text) => (said += text));

test.each([
  ['\n', 'Added "public/models/" to .gitignore.', 'dist\npublic/models/\n'],
  ['n\n', null, 'dist'],
])('a terminal that answers %j', async (answer, expected, text) => {
  terminal(answer);
  expect(await offerToIgnore('public/models', true, signal, root)).toBe(expected);
  expect(said).toContain(
    'Add "public/models/" to .gitignore? (No, if the site is deployed from this repository.)',
  );
  expect(await ignored()).toBe(text);
});

test('a script, and a pull that fetched nothing, are told the line; what is ignored needs none', async () => {
  const hint = expect.stringContaining('add a line "public/models/" to .gitignore') as string;
  expect(await offerToIgnore('public/models', true, signal, root)).toEqual(hint);
  terminal('\n');
  expect(await offerToIgnore('public/models', false, signal, root)).toEqual(hint);
  expect(await offerToIgnore('dist/models', true, signal, root)).toBeNull();
  expect([said, await ignored()]).toEqual(['', 'dist']);
});
