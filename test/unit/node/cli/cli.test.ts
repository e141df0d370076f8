import { rmSync, utimesSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { describeFileError, replaceFile } from '../../../../src/node/files.ts';
import { download } from '../../../../src/node/cli/pull/pull-hub.ts';
import { withPullLock } from '../../../../src/node/cli/pull/pull-lock.ts';
import { HubDouble } from '../hub-double.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { localtext } from './run-cli.ts';

const signal = new AbortController().signal;
const linux = process.platform === 'linux';
let base: string;

beforeEach(async () => {
  base = await tempFolder('cli');
  vi.stubEnv('LOCALTEXT_CACHE', join(base, 'cache'));
  // Nothing listens there: a command that goes to the network fails.
  vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9');
  vi.stubEnv('PIP_NO_INDEX', '1');
  await writeFile(join(base, 'file'), '');
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect(await localtext('--version')).toEqual({ status: 0, output: version, errors: '' });
});

test.each(['nope', 'constructor'])('%s is no command', async (name) => {
  const { status, errors } = await localtext(name);
  expect(status).toBe(2);
  expect(errors).toContain(`There is no command "${name}".`);
});

test.each(['pull', 'init', 'doctor', 'start'])('localtext %s --help tells of it', async (command) => {
  const { status, output } = await localtext(command, '--help');
  expect(status).toBe(0);
  expect(output).toMatch(new RegExp(`^Usage: localtext ${command} `));
});

describe('a folder that cannot be made', () => {
  test.each([
    ['pull', '--to'],
    ['init', ''],
  ])('localtext %s: below a file', async (command, flag) => {
    const folder = join(base, 'file', 'models');
    expect(await localtext(command, ...[flag].filter(Boolean), folder)).toEqual({
      status: 1,
      output: '',
      errors: `${folder} needs a folder where there is a file. Choose another folder, or move the file.`,
    });
  });

  test('localtext pull: a file', async () => {
    const folder = join(base, 'file');
    const { status, errors } = await localtext('pull', '--to', folder);
    expect(status).toBe(1);
    expect(errors).toBe(`${folder} needs a folder where there is a file. Choose another folder, or move the file.`); // prettier-ignore
  });

  test.runIf(linux)('localtext pull: in a file system of the kernel', { timeout: 10_000 }, async () => {
    const { status, errors } = await localtext('pull', '--to', '/proc/localtext/models');
    expect(status).toBe(1);
    expect(errors).toMatch(
      /^\/proc\/localtext (does not exist and cannot be made there|may not be changed)\. Choose another folder/,
    );
  });
});

test('localtext init --remove all names the way to write it', async () => {
  const { status, errors } = await localtext('init', join(base, 'site'), '--remove', 'all');
  expect(status).toBe(2);
  expect(errors).toMatch(/^localtext init takes one folder\. Write --remove=all\./);
});

test.each(['out', 'empty'])('localtext init --offline before a build makes nothing: %s', async (name) => {
  await mkdir(join(base, 'empty'));
  const folder = join(base, name);
  expect(await localtext('init', folder, '--offline')).toEqual({
    status: 1,
    output: '',
    errors: `${folder} has no page (*.html) to keep for use without a network. Build the site first, then run localtext init --offline. If a server renders its pages, leave out --offline: pages are stored as they are seen.`,
  });
  expect(await readdir(folder).catch(() => null)).toEqual(name === 'out' ? null : []);
});

test.runIf(linux)('a full disk ends a download at once, and is named', async () => {
  const hub = await HubDouble.start();
  hub.files.set('/weights', Buffer.alloc(100_000));
  const part = join(base, 'weights.part');
  await symlink('/dev/full', part);
  const url = `${hub.url}/weights`;
  const error: unknown = await download({ url, part, totalBytes: 100_000, signal }).catch(
    (thrown: unknown) => thrown,
  );
  expect(describeFileError(error)).toMatch(/ has no space left\./);
  expect(hub.requests).toHaveLength(1);
});

test.each([
  ['file/copy', 'needs a folder where there is a file.'],
  ['x'.repeat(300), 'has a name that is too long.'],
])('a copy that fails names its target and says why: %.9s', async (name, fault) => {
  const target = join(base, name);
  const error = await copyFile(join(base, 'file'), target).catch((thrown: unknown) => thrown);
  expect(describeFileError(error)).toContain(`${target} ${fault}`);
});

test('other errors are not taken for one of the file system', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  const noProgram = Object.assign(new Error('spawn x'), { code: 'ENOENT', syscall: 'spawn x', path: 'x' });
  const build = Object.assign(new Error('unresolved'), { code: 'UNRESOLVED_IMPORT' });
  for (const error of [refused, noProgram, build, 'text', null]) expect(describeFileError(error)).toBeNull();
});

/** Each look at the clock is some time after the one before. */
function passTime(onLook: (look: number) => void = () => undefined): void {
  let looks = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    onLook(++looks);
    return looks * 40_000;
  });
}

describe('the lock of a pull', () => {
  let cache: string;
  let lock: string;

  beforeEach(async () => {
    cache = join(base, 'cache');
    lock = join(cache, 'pull.lock');
    await mkdir(cache);
  });

  const take = (work = () => Promise.resolve()): Promise<void> =>
    withPullLock(cache, () => undefined, AbortSignal.timeout(20_000), work);

  test.each([
    ['was never written', ''],
    ['has the id of no process', '999999999'],
    ['has the id that this process has since a restart', String(process.pid)],
    ['has the id that another process has since a restart', String(process.ppid)],
    ["has the id of another user's process", '1'],
  ])('is taken over where nobody touches it: it %s', async (_, text) => {
    await writeFile(lock, text);
    passTime();
    await take();
    expect(await readdir(cache)).toEqual([]);
  });

  test.each(['', '999999999', String(process.pid)])(
    'is left alone while it is touched, with the id %j',
    async (text) => {
      await writeFile(lock, text);
      const look = vi.fn((count: number) => {
        if (count === 5) rmSync(lock);
        else utimesSync(lock, count, count);
      });
      passTime(look);
      await take();
      expect(look).toHaveBeenCalledTimes(5);
    },
  );

  test('is touched while it is held', async () => {
    await take(async () => {
      utimesSync(lock, 1, 1);
      await vi.waitFor(async () => expect((await stat(lock)).mtimeMs).toBeGreaterThan(1_000), {
        timeout: 20_000,
      });
    });
    expect(await readdir(cache)).toEqual([]);
  });
});

test.each([
  ['http://user:secret@127.0.0.1:9', /^The URL of 127\.0\.0\.1:9 has a user name or a password/],
  ['mirror', /^"mirror" is not a URL\. HF_ENDPOINT takes one/],
  ['user:secret@mirror', /^"…@mirror" is not a URL/],
])('an HF_ENDPOINT that cannot be fetched is refused: %s', async (hub, message) => {
  vi.stubEnv('HF_ENDPOINT', hub);
  expect((await localtext('pull', '--to', join(base, 'models'))).errors).toMatch(message);
});

test('files written at once, also by processes with one id, do not meet', async () => {
  const path = join(base, 'folder/list.json');
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(10_000));
  await Promise.all(texts.map((text) => replaceFile(path, text)));
  expect(texts).toContain(await readFile(path, 'utf8'));
  expect(await readdir(dirname(path))).toEqual(['list.json']);
});

test('the draft of a file is for this user only, and a link in its place is not followed', async () => {
  const [path, other] = [join(base, 'list.json'), join(base, 'other')];
  await writeFile(path, '', { mode: 0o640 });
  await writeFile(other, 'own', { mode: 0o600 });
  const modes: number[] = [];
  vi.doMock('node:fs/promises', async (original) => ({
    ...(await original<object>()),
    async open(draft: string, ...options: [string, number?]) {
      const file = await open(draft, ...options);
      modes.push((await file.stat()).mode & 0o777);
      await rename(draft, `${draft}.moved`);
      await symlink(other, draft);
      return file;
    },
  }));
  vi.resetModules();
  const files = await import('../../../../src/node/files.ts');
  vi.doUnmock('node:fs/promises');
  await files.replaceFile(path, 'new');
  expect(modes).toEqual([0o600]);
  expect([await readFile(other, 'utf8'), (await stat(other)).mode & 0o777]).toEqual(['own', 0o600]);
});

describe('localtext start', () => {
  const folder = process.cwd();
  beforeEach(() => process.chdir(base));
  afterEach(() => process.chdir(folder));

  test.each(['js', 'mjs', 'ts', 'cjs', 'mts', 'cts'])(
    'finds a port taken before it builds the site of a vite.config.%s',
    async (end) => {
      await writeFile(`vite.config.${end}`, '');
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
      const { port } = server.address() as AddressInfo;
      expect(await localtext('start', 'silver-lark-4', '--port', String(port))).toEqual({
        status: 1,
        output: '',
        errors: `Port ${port} is in use. Name another with --port, or leave --port out to have a free one found.`,
      });
      server.close();
    },
  );

  test('refuses an empty host, which would be every address', async () => {
    expect(await localtext('start', '--host=')).toMatchObject({ status: 2, output: '' });
  });
});
