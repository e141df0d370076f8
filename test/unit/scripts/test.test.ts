import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

import { tempFolder } from '../../support/temp-folder.ts';

/** A file that keeps the number of its runs, as a module would not. */
const COUNT = `
const { existsSync, writeFileSync } = await import('node:fs');
const isFirst = (name) => {
  const path = new URL(name, import.meta.url);
  const first = !existsSync(path);
  writeFileSync(path, '');
  return first;
};
`;

async function runTests(project: string, source: string): Promise<{ status: number | null; output: string }> {
  const folder = await tempFolder('vitest');
  const config = { test: { projects: [{ test: { name: project, globals: true, include: ['*.test.js'] } }] } };
  await writeFile(join(folder, 'vitest.config.js'), `export default ${JSON.stringify(config)}`);
  await writeFile(join(folder, 'a.test.js'), COUNT + source);
  const { status, stdout } = spawnSync(process.execPath, [resolve('scripts/test.mjs'), '--root', folder], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { status, output: stdout };
}

const flaky = (name: string): string =>
  `test('${name}', () => { console.log('${name} runs'); if (isFirst('${name}')) throw new Error('the first ${name}'); });\n`;

test('a browser test that passes alone, after all others, is listed with its first failure', async () => {
  const { status, output } = await runTests(
    'browser',
    `${flaky('one')}test('two', () => console.log('two runs'));`,
  );
  expect(output.match(/^(?:one|two) runs$/gm)).toEqual(['one runs', 'two runs', 'one runs']);
  expect(output).toMatch(/flaky: a\.test\.js > one\nError: the first one\n[^]*\n2 passed, 0 failed\n$/);
  expect(status).toBe(0);
});

test('a browser test that fails again fails the run', async () => {
  const { status, output } = await runTests(
    'browsers',
    `${flaky('one')}test('two', () => { throw new Error('always'); });`,
  );
  expect(output).toMatch(/flaky: a\.test\.js > one\n[^]*failed: a\.test\.js > two\n1 passed, 1 failed\n$/);
  expect(status).toBe(1);
});

test('a file whose hook failed runs again as a whole', async () => {
  const { status, output } = await runTests(
    'browser',
    `beforeAll(() => { if (isFirst('hook')) throw new Error('the hook'); });\ntest('one', () => {});`,
  );
  expect(output).toMatch(/flaky: a\.test\.js\nError: the hook\n[^]*\n1 passed, 0 failed\n$/);
  expect(status).toBe(0);
});

test('a unit test never runs again', async () => {
  const { status, output } = await runTests('unit', flaky('one'));
  expect(output).toMatch(/0 passed, 1 failed\n$/);
  expect(status).toBe(1);
});
