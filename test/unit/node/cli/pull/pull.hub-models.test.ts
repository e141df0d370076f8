import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import type { Catalog } from '../../../../../src/catalog/catalog.ts';
import { pull } from '../../../../../src/node/cli/pull/pull.ts';
import { Progress } from '../../../../../src/node/cli/progress.ts';
import { publishHubModels, type StandIn, standIns } from '../../../../support/hub-mirror.ts';
import { ModelHub } from '../../../../support/model-hub.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

/** The list of hub models, pulled from a mirror whose files are stand-ins of the right names. */

let hub: ModelHub;
let folder: string;
beforeEach(async () => {
  hub = await ModelHub.start();
  folder = await tempFolder('pull');
});

const pullFrom = (catalog: Catalog, name: string): Promise<number> =>
  pull({
    catalog,
    sources: {},
    ids: [name],
    folder: join(folder, 'models'),
    cache: join(folder, 'cache'),
    hub: hub.url,
    progress: new Progress(process.stderr),
    signal: new AbortController().signal,
  });

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const named = standIns.map((standIn): [string, StandIn] => [standIn.variant.name, standIn]);

test.each(named)('%s comes from a mirror of the hub, file by file', async (name, { files }) => {
  const catalog = publishHubModels(hub);
  expect(await pullFrom(catalog, name)).toBe(Object.keys(files).length);
  const models = join(folder, 'models');
  const manifest = JSON.parse(await readFile(join(models, 'manifest.json'), 'utf8')) as {
    files: Record<string, { bytes: number; sha256: string }>;
  };
  for (const [path, bytes] of Object.entries(files)) {
    expect(await readFile(join(models, path))).toEqual(bytes);
    expect(manifest.files[path]).toEqual({ bytes: bytes.length, sha256: sha256(bytes) });
  }
  expect(await pullFrom(catalog, name)).toBe(0);
});

test.each(named.filter(([, { variant }]) => variant.hub?.sha256))(
  '%s is refused from a mirror whose file is another',
  async (name, standIn) => {
    const catalog = publishHubModels(hub, { keepsHashes: true });
    await expect(pullFrom(catalog, name)).rejects.toThrow(/SHA-256/);
    for (const path of Object.keys(standIn.files))
      await expect(readFile(join(folder, 'models', path))).rejects.toThrow('ENOENT');
  },
);
