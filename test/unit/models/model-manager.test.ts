import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

import { expect, test, vi } from 'vitest';

import type { Catalog, Variant } from '../../../src/catalog/catalog.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { ENGINES } from '../../../src/engines/index.ts';
import { variantPlanner } from '../../../src/models/variant-choice.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { VariantFiles } from '../../../src/weights/sources/variant-files.ts';
import { openStore } from '../weights/open-store.ts';
import { plainDevice } from '../engine-kit/plain-device.ts';
import { createModelManager } from '../../support/create-model-manager.ts';
import { listen } from '../../support/listen.ts';
import { ggufVariant, mlcVariant, modelOf } from '../../support/catalogs.ts';
import { never } from '../../support/never.ts';

const room = async () => ({ needed: 0, free: null });
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const of = (text: string) => ({ bytes: text.length, sha256: sha256(text) });

/** Files on loopback; every path asked for is kept. */
async function serve(files: Record<string, string>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const body = files[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200);
    response.end(body);
  });
  return { asked, url: await listen(server) };
}

const big = (library: string) =>
  mlcVariant('big', library, {
    hub: { repository: 'o/big', revision: 'main', folder: 'mlc/big', approximateBytes: 5 },
    needs: { webgpu: true },
  });
const small = ggufVariant('small', { files: [{ path: 'small.gguf', bytes: 5, sha256: sha256('small') }] });
const model = (...variants: Variant[]) => modelOf('m', variants);

const tree = JSON.stringify([
  { type: 'file', path: 'mlc-chat-config.json', size: 2, oid: 'a' },
  { type: 'file', path: 'params_shard_0.bin', size: 5, oid: 'b', lfs: { oid: sha256('shard'), size: 5 } },
  { type: 'file', path: 'README.md', size: 9, oid: 'c' },
  { type: 'directory', path: 'x', size: 0, oid: 'd' },
]);
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const hubFiles = {
  '/api/models?limit=1': '[]',
  '/api/models/o/big/revision/main': JSON.stringify({ sha: COMMIT }),
  [`/api/models/o/big/tree/${COMMIT}?recursive=true`]: tree,
  [`/o/big/resolve/${COMMIT}/mlc-chat-config.json`]: '{}',
  '/lib/big.wasm': 'wasm',
};

function planning(siteUrl: string, hub?: string | boolean, backend = new MemoryBackend()) {
  const store = () => Promise.resolve(openStore(backend, `${siteUrl}/models/`));
  const sources = new VariantFiles(store, `${siteUrl}/models/`, hub === undefined ? {} : { hub });
  const plan = variantPlanner({
    device: Promise.resolve(plainDevice),
    variantFiles: sources,
    engines: ENGINES,
  });
  return {
    sources,
    plan: (variants: Variant[], faults = new Map<string, string>()) => plan(model(...variants), faults),
  };
}

const names = ({ candidates }: { candidates: Variant[] }): string[] => candidates.map(({ name }) => name);

test('without a hub the small set is taken at once, with the reason, and nothing is asked of a hub', async () => {
  const site = await serve({});
  const plan = await planning(site.url).plan([big('l.wasm'), small]);
  expect(names(plan)).toEqual(['small']);
  expect(plan.reasons[1]).toMatchObject({
    variant: 'big',
    chosen: false,
    reason: expect.stringMatching(/^its weights are not on this site/) as string,
  });
  expect(site.asked).toEqual(['/models/manifest.json']);
});

test('a hub out of reach is found out once', async () => {
  const site = await serve({});
  const hub = await serve({});
  const { plan } = planning(site.url, hub.url);
  expect((await plan([big('l.wasm'), small])).reasons[1]?.reason).toMatch(/the model hub is out of reach$/);
  await plan([big('l.wasm'), small]);
  expect(hub.asked).toEqual(['/api/models?limit=1']);
});

test('what the device cannot run is not looked for anywhere', async () => {
  const site = await serve({});
  const needy: Variant = { ...big('l.wasm'), needs: { webgpu: true, features: ['shader-f16'] } };
  const plan = await planning(site.url, true).plan([needy, small]);
  expect(names(plan)).toEqual(['small']);
  expect(site.asked).toEqual([]);
});

test('the hub tells files of one commit, sizes and hashes; small files are hashed here; all is remembered without it', async () => {
  const site = await serve({});
  const hub = await serve(hubFiles);
  const backend = new MemoryBackend();
  const variant = big(`${hub.url}/lib/big.wasm`);
  const { sources, plan } = planning(site.url, hub.url, backend);
  expect(names(await plan([variant, small]))).toEqual(['big', 'small']);
  const { files } = await sources.resolve(variant, never);
  expect(files).toEqual([
    {
      path: 'mlc/big/mlc-chat-config.json',
      url: `${hub.url}/o/big/resolve/${COMMIT}/mlc-chat-config.json`,
      bytes: 2,
      sha256: sha256('{}'),
    },
    {
      path: 'mlc/big/params_shard_0.bin',
      url: `${hub.url}/o/big/resolve/${COMMIT}/params_shard_0.bin`,
      bytes: 5,
      sha256: sha256('shard'),
    },
    { path: 'mlc/big/big.wasm', url: `${hub.url}/lib/big.wasm`, bytes: 4, sha256: sha256('wasm') },
  ]);
  const later = planning(site.url, false, backend);
  expect(names(await later.plan([variant, small]))).toEqual(['big', 'small']);
  expect((await later.sources.resolve(variant, never)).files).toEqual(files);
});

test('the site’s own manifest comes first: nothing is asked of the hub', async () => {
  const manifest = {
    version: 1,
    files: { 'mlc/big/mlc-chat-config.json': of('{}'), 'mlc/big/big.wasm': of('wasm') },
  };
  const site = await serve({ '/models/manifest.json': JSON.stringify(manifest) });
  const hub = await serve(hubFiles);
  const { sources, plan } = planning(site.url, hub.url);
  const variant = big('https://libs.example.com/big.wasm');
  expect(names(await plan([variant, small]))).toEqual(['big', 'small']);
  expect((await sources.resolve(variant, never)).files.map(({ path, url }) => [path, url])).toEqual([
    ['mlc/big/mlc-chat-config.json', undefined],
    ['mlc/big/big.wasm', undefined],
  ]);
  expect(hub.asked).toEqual([]);
});

test.each([
  ['leaves its folder', { version: 1, files: { 'mlc/big/../../x': { bytes: 1, sha256: sha256('x') } } }],
  ['lies about a size', { version: 1, files: { 'mlc/big/x': { bytes: -1, sha256: sha256('x') } } }],
  ['is of another version', { version: 2, files: {} }],
])('a manifest that %s is passed over', async (_, manifest) => {
  const site = await serve({ '/models/manifest.json': JSON.stringify(manifest) });
  expect(names(await planning(site.url).plan([big('l.wasm'), small]))).toEqual(['small']);
});

function modelManager(
  variants: Variant[],
  load: (variant: Variant) => Promise<Engine<'chat'>>,
  onDeviceLost?: (variant: Variant) => void,
) {
  const catalog: Catalog = { ownedBy: 'o', models: [model(...variants)] };
  const sources = { fault: async () => undefined, missingBytes: async () => 1, room };
  const plan = variantPlanner({
    device: Promise.resolve(plainDevice),
    variantFiles: sources,
    engines: ENGINES,
  });
  return createModelManager({ catalog, load, plan, ...(onDeviceLost && { onDeviceLost }) });
}

const engine = ({ name }: Variant): Engine<'chat'> => ({
  fingerprint: name,
  slots: 1,
  kind: 'chat',
  traits: {},
  // oxlint-disable-next-line require-yield
  async *run() {
    throw new ServiceError({ code: 'device_lost', message: 'lost' });
  },
  unload: async () => undefined,
});

test('a variant that cannot be loaded gives way to the next, and the status tells why the first was wanted', async () => {
  const models = modelManager([big('l.wasm'), small], async (variant) => {
    if (variant.name === 'big')
      throw new ServiceError({ code: 'out_of_memory', message: 'too little memory' });
    return engine(variant);
  });
  expect((await models.ready('m', never)).variant.name).toBe('small');
  expect(models.status()[0]).toMatchObject({
    state: 'ready',
    fingerprint: 'small',
    reasons: [
      { variant: 'small', chosen: true },
      { variant: 'big', chosen: false, reason: 'could not be loaded: too little memory' },
    ],
  });
});

test('a download that was given up loads no other variant, and the next request loads it again at once', async () => {
  const loads: string[] = [];
  let cancelled = true;
  const models = modelManager([big('l.wasm'), small], async (variant) => {
    loads.push(variant.name);
    if (cancelled) throw new ServiceError({ code: 'download_cancelled', message: 'cancelled' });
    return engine(variant);
  });
  await expect(models.ready('m', never)).rejects.toMatchObject({ wire: { code: 'download_cancelled' } });
  expect(loads).toEqual(['big']);
  expect(models.status()[0]).toMatchObject({ state: 'idle', error: null });
  expect(models.chosen('m')).toBe('big');
  cancelled = false;
  expect((await models.ready('m', never)).variant.name).toBe('big');
});

test('a load that found the storage full is repeated by the next request', async () => {
  let full = true;
  const models = modelManager([small], async (variant) => {
    if (full) throw new ServiceError({ code: 'storage_full', message: 'full' });
    return engine(variant);
  });
  await expect(models.ready('m', never)).rejects.toThrow('full');
  full = false;
  expect((await models.ready('m', never)).variant.name).toBe('small');
});

test('each request repeats a failed load at once, except one that can do without the model', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let loads = 0;
  const models = modelManager([small], async () => {
    loads++;
    throw new ServiceError({ code: 'weights_unavailable', message: 'offline' });
  });
  const loadsAfter = async (milliseconds: number, optional = false) => {
    vi.advanceTimersByTime(milliseconds);
    await expect(models.ready('m', never, {}, optional)).rejects.toThrow('offline');
    return loads;
  };
  expect(await loadsAfter(0)).toBe(1);
  expect(await loadsAfter(0)).toBe(2);
  expect(await loadsAfter(29_000, true)).toBe(2);
  expect(await loadsAfter(2000, true)).toBe(3);
});

test('a request that names variants gets one of them, or an error', async () => {
  const models = modelManager([big('l.wasm'), small], async (variant) => engine(variant));
  expect((await models.ready('m', never, { variants: ['small'] })).variant.name).toBe('small');
  expect((await models.ready('m', never)).variant.name).toBe('big');
  expect(models.loadedModel('m', 'chat', { variants: ['small'] }).variant.name).toBe('small');
  await expect(models.ready('m', never, { variants: ['other'] })).rejects.toMatchObject({
    wire: { code: 'model_unavailable' },
  });
});

test('where only servers run a model, a request limited to the device is told so', async () => {
  const catalog = { ownedBy: 'o', models: [model()] };
  const models = createModelManager({ catalog, load: async (variant) => engine(variant) });
  await expect(models.ready('m', never, { deviceOnly: true })).rejects.toThrow(
    /limited to this device.*only servers run it/,
  );
});

test('a GPU lost once is reloaded; lost twice, the next variant answers', async () => {
  const told: string[] = [];
  const models = modelManager(
    [big('l.wasm'), small],
    async (variant) => engine(variant),
    ({ name }) => told.push(name),
  );
  const lost = new ServiceError({ code: 'device_lost', message: 'lost' });
  for (const expected of ['big', 'big', 'small']) {
    const loadedModel = await models.ready('m', never);
    expect(loadedModel.variant.name).toBe(expected);
    if (loadedModel.engine) await models.failed(loadedModel, loadedModel.engine, lost);
  }
  await models.ready('m', never);
  expect(models.status()[0]?.reasons).toContainEqual(
    expect.objectContaining({ variant: 'big', reason: 'lost the GPU 2 times' }),
  );
  expect(told).toEqual(['big', 'big', 'small']);
});

test('no variant for this device: status and error say why, one by one', async () => {
  const models = modelManager([{ ...small, needs: { cores: 64 } }], async (variant) => engine(variant));
  const reason = 'needs 64 processor cores, and this device has 4';
  await expect(models.ready('m', never)).rejects.toThrow(`small: ${reason}. Use`);
  const refused = { variant: 'small', engine: 'wllama', chosen: false, reason };
  expect(models.status()[0]?.reasons).toEqual([refused]);
});
