import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { link, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Progress } from '../../../../../src/node/cli/progress.ts';
import { pull, type PullOptions } from '../../../../../src/node/cli/pull/pull.ts';
import { compacted } from '../../../../../src/node/cli/pull/sources.ts';
import { HubDouble } from '../../hub-double.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';
import { catalogOf, ggufVariant, modelOf } from '../../../../support/catalogs.ts';

const PATH = 'tiny/model.gguf';
const URL_PATH = '/owner/tiny/resolve/abc/model.gguf';
const content = randomBytes(300_000);
const sha256 = createHash('sha256').update(content).digest('hex');

let hub: HubDouble;
let base: string;
let output: string;

beforeEach(async () => {
  hub = await HubDouble.start();
  hub.files.set(URL_PATH, content);
  base = await tempFolder('pull');
  output = '';
});

afterEach(async () => {
  vi.restoreAllMocks();
});

const files = [{ path: PATH, bytes: content.length, sha256 }];
const catalog = catalogOf(modelOf('tiny', [ggufVariant('tiny-q4', { files })]));

function options(overrides: Partial<PullOptions> = {}): PullOptions {
  return {
    catalog,
    sources: { [PATH]: { hub: { repository: 'owner/tiny', revision: 'abc', file: 'model.gguf' } } },
    ids: [],
    folder: join(base, 'site'),
    cache: join(base, 'cache'),
    hub: hub.url,
    progress: new Progress({ write: (text) => (output += text) }),
    signal: new AbortController().signal,
    ...overrides,
  };
}

const hashOf = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

const downloads = (): string[] => hub.requests.filter((request) => request.startsWith('GET'));

test('downloads a file once, and shares it with the cache', async () => {
  expect(await pull(options())).toBe(1);
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
  const [kept, placed] = await Promise.all([
    stat(join(base, 'cache/models', PATH)),
    stat(join(base, 'site', PATH)),
  ]);
  expect(placed.ino).toBe(kept.ino);
  expect(await pull(options())).toBe(0);
  expect(downloads()).toEqual([`GET ${URL_PATH}`]);
});

test('leaves nothing beside the file if the cache is the folder', async () => {
  await pull(options({ folder: join(base, 'cache/models') }));
  expect(await readdir(join(base, 'cache/models/tiny'))).toEqual(['model.gguf']);
});

test('resumes after a dropped connection', async () => {
  hub.cuts.push(100_000, 50_000);
  await pull(options());
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
  // What came last before the cut may not have been written.
  const [first, ...resumed] = downloads();
  expect(first).toBe(`GET ${URL_PATH}`);
  expect(resumed).toHaveLength(2);
  for (const each of resumed) expect(each).toMatch(/ bytes=[1-9]\d*-$/);
});

test('resumes after an interrupted run', async () => {
  const part = join(base, 'cache/models', `${PATH}.part`);
  await mkdir(join(part, '..'), { recursive: true });
  await writeFile(part, content.subarray(0, 123_456));
  await pull(options());
  expect(downloads()).toEqual([`GET ${URL_PATH} bytes=123456-`]);
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
});

/** A separate process, which runs `pull` until the file has as many bytes, and is killed then. */
async function killedPull(bytes: number): Promise<void> {
  const { progress: _, signal: __, ...rest } = options();
  const bundle = await rolldown({ input: 'src/node/cli/pull/pull.ts', platform: 'node' });
  await bundle.write({ dir: base, format: 'esm', entryFileNames: 'pull.mjs' });
  await bundle.close();
  const program = `import { pull } from './pull.mjs';
    const progress = { begin() {}, update() {}, end() {}, line() {} };
    await pull({ ...${JSON.stringify(rest)}, progress, signal: new AbortController().signal });`;
  await writeFile(join(base, 'run.mjs'), program);
  const child = spawn(process.execPath, [join(base, 'run.mjs')], { stdio: 'inherit' });
  const exit = once(child, 'exit');
  const part = join(base, 'cache/models', `${PATH}.part`);
  await vi.waitFor(async () => expect((await stat(part)).size).toBe(bytes), { timeout: 30_000 });
  child.kill('SIGKILL');
  expect(await exit).toEqual([null, 'SIGKILL']);
}

test('resumes after a killed run that left its lock', async () => {
  hub.stalls.push(123_456);
  await killedPull(123_456);
  expect(await readdir(join(base, 'cache'))).toContain('pull.lock');
  // Nobody touches it: each look at the clock is some time after the one before.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 40_000));
  expect(await pull(options())).toBe(1);
  expect(downloads()).toEqual([`GET ${URL_PATH}`, `GET ${URL_PATH} bytes=123456-`]);
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
  expect(await readdir(join(base, 'cache'))).not.toContain('pull.lock');
});

test('restarts at a server that knows no ranges', async () => {
  hub.ranges = false;
  hub.cuts.push(100_000);
  await pull(options());
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
});

test('an abort ends it, and keeps what came', async () => {
  const interrupt = new AbortController();
  hub.cuts.push(100_000, 0, 0, 0, 0, 0, 0, 0, 0);
  const aborted = expect(pull(options({ signal: interrupt.signal }))).rejects.toThrow('aborted');
  await expect.poll(() => downloads().length).toBeGreaterThan(1);
  interrupt.abort();
  await aborted;
  // A slow machine may not have written all that came.
  const { size } = await stat(join(base, 'cache/models', `${PATH}.part`));
  expect(size).toBeGreaterThan(0);
  expect(size).toBeLessThanOrEqual(100_000);
  hub.cuts.length = 0;
  expect(await pull(options())).toBe(1);
  expect(downloads().at(-1)).toBe(`GET ${URL_PATH} bytes=${size}-`);
});

test('a file with another hash is refused and thrown away', async () => {
  const wrong = Buffer.from(content);
  wrong.writeUInt8(wrong.readUInt8(7) ^ 1, 7);
  hub.files.set(URL_PATH, wrong);
  await expect(pull(options())).rejects.toThrow(/instead of 300000 bytes and [0-9a-f]{64}/);
  await expect(stat(join(base, 'cache/models', `${PATH}.part`))).rejects.toThrow('ENOENT');
  await expect(stat(join(base, 'site', PATH))).rejects.toThrow('ENOENT');
});

test.each(['text/html', 'Text/HTML; charset=utf-8'])(
  "a proxy's page of type %s is refused, and what came before is kept",
  async (type) => {
    const part = join(base, 'cache/models', `${PATH}.part`);
    await mkdir(join(part, '..'), { recursive: true });
    await writeFile(part, content.subarray(0, 123_456));
    hub.proxied.push({ type, body: '<title>Blocked</title>' });
    await expect(pull(options())).rejects.toThrow('answered with a page of HTML instead of the file');
    expect(downloads()).toHaveLength(1);
    expect(await pull(options())).toBe(1);
    expect(downloads().at(-1)).toBe(`GET ${URL_PATH} bytes=123456-`);
  },
);

test.each([
  ['another file', 123_456],
  ['another file of the same size', 300_000],
  ["a proxy's page without a type", 0],
])('a download that continues after bytes of %s starts over once', async (_, kept) => {
  const part = join(base, 'cache/models', `${PATH}.part`);
  await mkdir(join(part, '..'), { recursive: true });
  if (kept > 0) await writeFile(part, Buffer.alloc(kept, 'x'));
  else hub.proxied.push({ body: 'Blocked by the policy of this network' });
  expect(await pull(options())).toBe(1);
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
  expect(downloads().at(-1)).toBe(`GET ${URL_PATH}`);
  expect(output).toContain(
    'The stored part of model.gguf is of another file. Downloading it from its start.',
  );
});

test('a wrong file is not downloaded again and again', async () => {
  hub.files.set(URL_PATH, Buffer.alloc(content.length));
  hub.cuts.push(100_000);
  await expect(pull(options())).rejects.toThrow(/instead of 300000 bytes and [0-9a-f]{64}/);
  expect(downloads()).toHaveLength(3);
});

test('a longer file is refused before all of it came', async () => {
  hub.files.set(URL_PATH, Buffer.concat([content, content]));
  await expect(pull(options())).rejects.toThrow('longer than the 300000 bytes expected');
});

test.each(['before any pull', 'after a pull'])('a file of the user is not replaced: %s', async (when) => {
  const target = join(base, 'site', PATH);
  if (when === 'after a pull') {
    await pull(options());
    await rm(target);
  }
  await mkdir(join(target, '..'), { recursive: true });
  await writeFile(target, 'own');
  const before = downloads().length;
  await expect(pull(options())).rejects.toThrow(
    `${target} is not a file that was pulled, or was changed since, and would be replaced. Move or delete it, and pull again.`,
  );
  expect(await readFile(target, 'utf8')).toBe('own');
  expect(downloads()).toHaveLength(before);
});

test('a file of an earlier version is replaced', async () => {
  await pull(options());
  const other = randomBytes(1000);
  hub.files.set(URL_PATH, other);
  const changed = structuredClone(catalog);
  const [file] = changed.models[0]?.variants[0]?.files ?? [];
  if (!file) throw new Error('no file');
  Object.assign(file, { bytes: other.length, sha256: createHash('sha256').update(other).digest('hex') });
  expect(await pull(options({ catalog: changed }))).toBe(1);
  expect(await hashOf(join(base, 'site', PATH))).toBe(file.sha256);
});

test.each([
  ['{ broken', 'is not JSON'],
  ['', 'is not JSON'],
  ['{"version":2,"files":{}}', 'is not a manifest of version 1'],
])('a manifest that cannot be read stays: %s', async (text, message) => {
  const path = join(base, 'site/manifest.json');
  await mkdir(join(base, 'site'));
  await writeFile(path, text);
  await expect(pull(options())).rejects.toThrow(`${path} ${message}`);
  expect(await readFile(path, 'utf8')).toBe(text);
  expect(downloads()).toEqual([]);
});

test.each(['nowhere', '../own.json'])('a link in place of the manifest stays: to %s', async (target) => {
  const path = join(base, 'site/manifest.json');
  const own = '{"version":1,"files":{}}';
  await mkdir(join(base, 'site'));
  await writeFile(join(base, 'own.json'), own);
  await symlink(target, path);
  await expect(pull(options())).rejects.toThrow(`${path} is a link, a folder or a device, and a plain`);
  expect([await readlink(path), await readFile(join(base, 'own.json'), 'utf8')]).toEqual([target, own]);
});

test('fields of others in a manifest stay', async () => {
  const path = join(base, 'site/manifest.json');
  await mkdir(join(base, 'site'));
  await writeFile(path, '{"version":1,"note":"ours","files":{}}', { mode: 0o640 });
  await pull(options());
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
    note: 'ours',
    files: { [PATH]: { sha256 } },
  });
  expect((await stat(path)).mode & 0o777).toBe(0o640);
});

test('a link inside the folder that leads out of it is refused, one at its top is followed', async () => {
  await mkdir(join(base, 'elsewhere'));
  await mkdir(join(base, 'site'));
  await symlink(join(base, 'elsewhere'), join(base, 'site/tiny'), 'junction');
  await expect(pull(options())).rejects.toThrow(
    /lies behind a link that leads out of the folder, to .*elsewhere/,
  );
  expect(await readdir(join(base, 'elsewhere'))).toEqual([]);
  await symlink(join(base, 'elsewhere'), join(base, 'top'), 'junction');
  expect(await pull(options({ folder: `${base}/none/../top` }))).toBe(1);
  expect(await hashOf(join(base, 'elsewhere', PATH))).toBe(sha256);
});

test.each([
  ['a symbolic link', symlink],
  ['a hard link', link],
])('%s in place of a partial download is removed, and its file stays', async (_kind, makeLink) => {
  const own = join(base, 'notes.txt');
  await writeFile(own, 'own notes');
  await mkdir(join(base, 'cache/models/tiny'), { recursive: true });
  await makeLink(own, join(base, 'cache/models', `${PATH}.part`));
  expect(await pull(options())).toBe(1);
  expect(await readFile(own, 'utf8')).toBe('own notes');
  expect(await hashOf(join(base, 'site', PATH))).toBe(sha256);
});

test("a folder of wheels of the user's own is left alone", async () => {
  const wheel = join(base, 'cache/wheels/own.whl');
  await mkdir(join(wheel, '..'), { recursive: true });
  await writeFile(wheel, 'own');
  await pull(options());
  expect(await readFile(wheel, 'utf8')).toBe('own');
});

test('a file put there by hand is taken when its hash is right', async () => {
  const target = join(base, 'site', PATH);
  await mkdir(join(target, '..'), { recursive: true });
  await writeFile(target, content);
  expect(await pull(options())).toBe(0);
  expect(downloads()).toEqual([]);
});

test('says what was tried and what to do by hand', async () => {
  const file = join(base, 'site', PATH);
  const gone = options();
  await hub.stop();
  const error = await pull(gone).catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({ name: 'PullError' });
  const { message } = error as Error;
  expect(message).toContain(`model hub ${gone.hub}: not reachable (fetch failed: ECONNREFUSED)`);
  expect(message).toContain('resolve/abc/model.gguf');
  expect(message).toContain(`300000 bytes, SHA-256 ${sha256}`);
  expect(message).toContain(file);
  hub = await HubDouble.start();
});

test('a file that the hub lacks is an error at once', async () => {
  hub.files.clear();
  await expect(pull(options())).rejects.toThrow('answered 404');
  expect(downloads()).toHaveLength(1);
});

test('the error for an unknown id lists the known ones', async () => {
  await expect(pull(options({ ids: ['openai/gpt-9'] }))).rejects.toThrow(
    'There is no model or variant "openai/gpt-9". A page adds a model of the hub itself: models.add({ hub }). The models are: tiny. "localtext pull --help" lists their variants.',
  );
});

test('a variant for pages that prefer it comes by its own name alone', async () => {
  const models = catalog.models.map((model) => ({
    ...model,
    variants: model.variants.map((variant) => ({ ...variant, optIn: true })),
  }));
  const optIn = { catalog: { ...catalog, models } };
  expect(await pull(options(optIn))).toBe(0);
  expect(await pull(options({ ...optIn, ids: ['tiny'] }))).toBe(0);
  expect(await pull(options({ ...optIn, ids: ['tiny-q4'] }))).toBe(1);
});

test('two pulls at once fetch once', async () => {
  const fetched = await Promise.all([pull(options()), pull(options({ folder: join(base, 'clone') }))]);
  expect(fetched.toSorted()).toEqual([0, 1]);
  expect(downloads()).toHaveLength(1);
  expect(output).toContain(`Waiting for another pull to end (process ${process.pid}).`);
});

test('writes JSON without its spaces, from a file that the site need not have', async () => {
  const given = Buffer.from('{ "a": [1, 2],\n "b": "c d" }');
  const wanted = Buffer.from('{"a":[1,2],"b":"c d"}');
  const from = { path: 'original/config.json', ...sizeAndHash(given) };
  hub.files.set(URL_PATH, given);
  const file = { path: PATH, ...sizeAndHash(wanted) };
  const models = catalog.models.map((model) => ({
    ...model,
    variants: model.variants.map((variant) => ({ ...variant, files: [file] })),
  }));
  const sources = {
    [PATH]: compacted(from),
    [from.path]: { hub: { repository: 'owner/tiny', revision: 'abc', file: 'model.gguf' } },
  };
  expect(await pull(options({ catalog: { ...catalog, models }, sources }))).toBe(1);
  expect(await readFile(join(base, 'site', PATH))).toEqual(wanted);
  await expect(stat(join(base, 'site', from.path))).rejects.toThrow('ENOENT');
});

function sizeAndHash(bytes: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
