import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Catalog } from '../../../../../src/catalog/catalog.ts';
import { Progress } from '../../../../../src/node/cli/progress.ts';
import { pull } from '../../../../../src/node/cli/pull/pull.ts';
import { listen } from '../../../../support/listen.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';
import { catalogOf, mlcVariant, modelOf } from '../../../../support/catalogs.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let folder: string;
let hub: string;
let served: Record<string, string>;

beforeEach(async () => {
  folder = await tempFolder('pull');
  const server = createServer((request, response) => {
    const body = served[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200, { 'content-length': Buffer.byteLength(body ?? '') });
    response.end(request.method === 'HEAD' ? undefined : body);
  });
  hub = await listen(server);
  const entry = (path: string, text: string, lfs: boolean) => ({
    type: 'file',
    path,
    size: text.length,
    ...(lfs && { lfs: { oid: sha256(text), size: text.length } }),
  });
  served = {
    '/': '',
    '/api/models/o/tiny/revision/main': JSON.stringify({ sha: COMMIT }),
    [`/api/models/o/tiny/tree/${COMMIT}?recursive=true`]: JSON.stringify([
      entry('mlc-chat-config.json', '{}', false),
      entry('params_shard_0.bin', 'shard', true),
      entry('README.md', 'x', false),
    ]),
    [`/o/tiny/resolve/${COMMIT}/mlc-chat-config.json`]: '{}',
    [`/o/tiny/resolve/${COMMIT}/params_shard_0.bin`]: 'shard',
    '/lib/tiny.wasm': 'wasm',
  };
});

const catalog = (): Catalog => catalogOf(modelOf('m', [mlcVariant('tiny-f32', `${hub}/lib/tiny.wasm`)]));

const pullAll = (ids: string[]) =>
  pull({
    catalog: catalog(),
    sources: {},
    ids,
    folder: join(folder, 'models'),
    cache: join(folder, 'cache'),
    hub,
    progress: new Progress(process.stderr),
    signal: new AbortController().signal,
  });

test('a variant comes from the hub by its name, its library beside it, and all is in the manifest', async () => {
  expect(await pullAll(['tiny-f32'])).toBe(3);
  expect(await readFile(join(folder, 'models/mlc/tiny/params_shard_0.bin'), 'utf8')).toBe('shard');
  const manifest = JSON.parse(await readFile(join(folder, 'models/manifest.json'), 'utf8')) as unknown;
  expect(manifest).toEqual({
    version: 1,
    files: {
      'mlc/tiny/mlc-chat-config.json': { bytes: 2, sha256: sha256('{}') },
      'mlc/tiny/params_shard_0.bin': { bytes: 5, sha256: sha256('shard') },
      'mlc/tiny/tiny.wasm': { bytes: 4, sha256: sha256('wasm') },
    },
    commits: { 'o/tiny': COMMIT },
  });
  expect(await pullAll(['tiny-f32'])).toBe(0);
});

test('a branch that has moved since is not followed', async () => {
  await pullAll(['tiny-f32']);
  served['/api/models/o/tiny/revision/main'] = JSON.stringify({ sha: 'f'.repeat(40) });
  await rm(join(folder, 'models/mlc'), { recursive: true });
  await rm(join(folder, 'cache'), { recursive: true });
  expect(await pullAll(['tiny-f32'])).toBe(3);
});

test('a library that has changed since is refused, with what to do', async () => {
  await pullAll(['tiny-f32']);
  served['/lib/tiny.wasm'] = 'other';
  await expect(pullAll(['tiny-f32'])).rejects.toThrow(
    /^mlc\/tiny\/tiny\.wasm is not the file that was pulled before: [^]*delete the folder/,
  );
});

test('a hub that names no commit is refused', async () => {
  served['/api/models/o/tiny/revision/main'] = JSON.stringify({ sha: '../../x' });
  await expect(pullAll(['tiny-f32'])).rejects.toThrow('names no commit for main of o/tiny');
});

test('a model by its id downloads no unpinned weights', async () => {
  expect(await pullAll(['m'])).toBe(0);
});

test("bytes that differ from the hub's hash are refused", async () => {
  served[`/o/tiny/resolve/${COMMIT}/params_shard_0.bin`] = 'shxrd';
  await expect(pullAll(['tiny-f32'])).rejects.toThrow(/params_shard_0\.bin[^]*SHA-256/);
});

test('a hub out of reach: said which, with what to do', async () => {
  hub = 'http://127.0.0.1:9';
  await expect(pullAll(['tiny-f32'])).rejects.toThrow(/listed: http:\S+:9\/api[^(]*copy the folder/);
});
