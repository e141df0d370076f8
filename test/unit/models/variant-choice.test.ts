import { loadId } from '../../../src/models/crash-guard.ts';
import { expect, test } from 'vitest';

import { type CatalogModel, type Variant, weightBytes } from '../../../src/catalog/catalog.ts';
import type { Device } from '../../../src/engine-kit/device.ts';
import { variantPlanner } from '../../../src/models/variant-choice.ts';
import { ENGINES } from '../../../src/engines/index.ts';

const GB = 1e9;
const hub = (approximateBytes: number) => ({
  repository: 'o/r',
  revision: 'main',
  folder: 'f',
  approximateBytes,
});
const base = { license: 'Apache-2.0', contextLength: 4096, files: [] };
const big: Variant = {
  ...base,
  engine: 'web-llm',
  name: 'big-f16',
  library: 'l.wasm',
  hub: hub(2.5 * GB),
  needs: { webgpu: true, features: ['shader-f16'], memoryBytes: 4 * GB },
};
const wide: Variant = { ...big, name: 'big-f32', needs: { webgpu: true, memoryBytes: 5 * GB } };
const small: Variant = {
  ...base,
  engine: 'wllama',
  name: 'small',
  files: [{ path: 'small.gguf', bytes: 98e6, sha256: '0'.repeat(64) }],
};
const model: CatalogModel = { id: 'm', kind: 'chat', created: 0, variants: [big, wide, small] };

const device = (more: Partial<Device> = {}): Device => ({
  gpu: { name: 'acme', fallback: false, features: ['shader-f16'] },
  memoryGiB: 8,
  cores: 8,
  saveData: false,
  ...more,
});
const gpu = (more: Partial<NonNullable<Device['gpu']>>): Partial<Device> => {
  const whole = device().gpu;
  return { gpu: whole && { ...whole, ...more } };
};

interface Known {
  faults?: Record<string, string>;
  /** Bytes that are not stored yet. Default: all. */
  missing?: Record<string, number>;
  /** Variants with which a tab has ended. */
  fatal?: string[];
  /** Bytes that may be stored. Default: unknown. */
  free?: number | null;
  evict?: boolean;
}

async function chooseFor(
  own: CatalogModel,
  on: Device,
  prefer: string[] = [],
  { faults = {}, missing = {}, fatal = [], free = null, evict = false }: Known = {},
) {
  const missingBytes = async (variant: Variant) => missing[variant.name] ?? weightBytes(variant);
  const sources = {
    fault: async () => undefined,
    missingBytes,
    room: async (variant: Variant) => ({ needed: await missingBytes(variant), free }),
  };
  const engines = ENGINES;
  const plan = variantPlanner({
    device: Promise.resolve(on),
    variantFiles: sources,
    engines,
    prefer,
    evict,
    fatal: async () =>
      own.variants.filter(({ name }) => fatal.includes(name)).map((each) => loadId(each, ENGINES)),
  });
  const { candidates, reasons } = await plan(own, new Map(Object.entries(faults)));
  return { variant: candidates[0] ?? null, reasons };
}

async function choose(more: Partial<Device> = {}, prefer: string[] = [], known: Known = {}) {
  const { variant, reasons } = await chooseFor(model, device(more), prefer, known);
  return {
    name: variant?.name,
    why: (name: string) => reasons.find((reason) => reason.variant === name)?.reason,
    reasons,
  };
}

test('a variant with which a tab has ended makes way for the next, the last to none', async () => {
  const { name, reasons } = await choose({}, [], { fatal: ['big-f16'] });
  expect(name).toBe('big-f32');
  expect(reasons[1]).toMatchObject({
    variant: 'big-f16',
    chosen: false,
    endedTab: true,
    reason: expect.stringMatching(/^ended its tab .*retry: true/) as string,
  });
  expect((await choose({}, [], { fatal: ['big-f16', 'big-f32'] })).name).toBe('small');
  const last = await choose({}, [], { fatal: ['big-f16', 'big-f32', 'small'] });
  expect(last.reasons).toMatchObject([
    { variant: 'small', chosen: true, endedTab: true },
    { variant: 'big-f16', chosen: false, endedTab: true },
    { variant: 'big-f32', chosen: false, endedTab: true },
  ]);
});

test('other weights of a variant are another load', () => {
  const file = { path: 'weights', bytes: 1 };
  const first = loadId({ name: 'big', files: [{ ...file, sha256: 'a'.repeat(64) }] }, ENGINES);
  expect(loadId({ name: 'big', files: [{ ...file, sha256: 'a'.repeat(64) }] }, ENGINES)).toBe(first);
  expect(loadId({ name: 'big', files: [{ ...file, sha256: 'b'.repeat(64) }] }, ENGINES)).not.toBe(first);
});

test('the first that the device can run is taken, and says so', async () => {
  const { name, reasons } = await choose();
  expect(name).toBe('big-f16');
  expect(reasons).toEqual([
    {
      variant: 'big-f16',
      engine: 'web-llm',
      chosen: true,
      reason: 'the first that this device can run, on its GPU (acme)',
    },
  ]);
});

test.each<[string, Partial<Device>, string, RegExp]>([
  ['no half floats', gpu({ features: [] }), 'big-f32', /^needs shader-f16, which this GPU lacks$/],
  ['no GPU', { gpu: null }, 'small', /^needs WebGPU, which this browser does not offer here$/],
  ['a GPU in software', gpu({ fallback: true }), 'small', /^needs a GPU, and WebGPU runs in software here$/],
  ['few GB', { memoryGiB: 4 }, 'small', /^needs 4\.0 GB of memory, and this device has about 4 GB in all$/],
  [
    'saving data',
    { saveData: true },
    'small',
    /^is a download of 2\.5 GB, and this device is asked to save data$/,
  ],
])('%s: passed over with the reason in words', async (_, more, taken, reason) => {
  const { name, why } = await choose(more);
  expect(name).toBe(taken);
  expect(why('big-f16')).toMatch(reason);
});

test('a variant without a figure of the catalog’s is held to the estimate of its memory', async () => {
  const large: Variant = { ...small, name: 'large', kvValues: 50_000, contextLength: 8192 };
  const own: CatalogModel = { ...model, variants: [large, small] };
  const { variant, reasons } = await chooseFor(own, device({ memoryGiB: 1 }));
  expect(variant?.name).toBe('small');
  expect(reasons[1]?.reason).toMatch(/^needs 1\.\d GB of memory, and this device has about 1 GB in all$/);
});

test('what is stored is not downloaded: neither storage nor saving data speak against it', async () => {
  expect((await choose({ saveData: true }, [], { missing: { 'big-f16': 0 }, free: 0 })).name).toBe('big-f16');
});

test('little storage: passed over, unless stored models are deleted for others', async () => {
  const { name, why } = await choose({}, [], { free: 0.5 * GB });
  expect(name).toBe('small');
  expect(why('big-f16')).toMatch(/^needs 2\.5 GB of storage, and 500 MB are free$/);
  expect((await choose({}, [], { free: 0.5 * GB, evict: true })).name).toBe('big-f16');
});

test('faults known of before are told as they were', async () => {
  const { name, why } = await choose({}, [], { faults: { 'big-f16': 'weights not reachable' } });
  expect(name).toBe('big-f32');
  expect(why('big-f16')).toBe('weights not reachable');
});

test('a page prefers a variant, but not against what the device can do', async () => {
  expect((await choose({}, ['small'])).name).toBe('small');
  expect((await choose(gpu({ features: [] }), ['big-f16'])).name).toBe('big-f32');
});

test('web-llm needs a real GPU, unless its variant says otherwise', async () => {
  const chosen = async (needs?: Variant['needs']) => {
    const { needs: _, ...bare } = wide;
    const own = { ...model, variants: [{ ...bare, ...(needs && { needs }) }, small] };
    return (await chooseFor(own, device(gpu({ fallback: true })))).variant?.name;
  };
  expect(await chosen()).toBe('small');
  expect(await chosen({ memoryBytes: 1 })).toBe('small');
  expect(await chosen({ webgpu: false })).toBe('big-f32');
});

test('a variant that is only for pages that prefer it is left to them', async () => {
  const reserved: CatalogModel = { ...model, variants: [{ ...big, optIn: true }] };
  const { variant, reasons } = await chooseFor(reserved, device());
  expect(variant).toBeNull();
  expect(reasons[0]?.reason).toBe('is used only when a page prefers it');
  expect((await chooseFor(reserved, device(), ['big-f16'])).variant?.name).toBe('big-f16');
});

test('none left: no variant, and every reason', async () => {
  const { name, reasons } = await choose({}, [], {
    faults: { 'big-f16': 'lost', 'big-f32': 'lost', small: 'lost' },
  });
  expect(name).toBeUndefined();
  expect(reasons.map(({ variant, chosen }) => [variant, chosen])).toEqual([
    ['big-f16', false],
    ['big-f32', false],
    ['small', false],
  ]);
});
