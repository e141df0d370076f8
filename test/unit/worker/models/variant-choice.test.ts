import { expect, test } from 'vitest';

import type { CatalogModel, Variant } from '../../../../src/catalog/catalog.ts';
import type { Device } from '../../../../src/worker/device/device.ts';
import { chooseVariant, type VariantState } from '../../../../src/worker/models/variant-choice.ts';

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
  gpu: {
    name: 'acme',
    fallback: false,
    features: ['shader-f16'],
  },
  memoryGiB: 8,
  cores: 8,
  storage: { quotaBytes: 100 * GB, usedBytes: 0 },
  saveData: false,
  ...more,
});
const gpu = (more: Partial<NonNullable<Device['gpu']>>): Partial<Device> => {
  const whole = device().gpu;
  return { gpu: whole && { ...whole, ...more } };
};

function choose(
  more: Partial<Device> = {},
  prefer: string[] = [],
  states: Record<string, VariantState> = {},
) {
  const { variant, reasons } = chooseVariant(model, device(more), prefer, states);
  return {
    name: variant?.name,
    why: (name: string) => reasons.find((reason) => reason.variant === name)?.reason,
    reasons,
  };
}

test('the first that the device can run is taken, and says so', () => {
  const { name, reasons } = choose();
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
  [
    'little memory',
    { memoryGiB: 4 },
    'small',
    /^needs 4\.0 GB of memory, and this device has about 4 GB in all$/,
  ],
  [
    'little storage',
    { storage: { quotaBytes: GB, usedBytes: 0.5 * GB } },
    'small',
    /^needs 2\.5 GB of storage, and 500 MB are free$/,
  ],
  [
    'saving data',
    { saveData: true },
    'small',
    /^is a download of 2\.5 GB, and this device is asked to save data$/,
  ],
])('%s: passed over with the reason in words', (_, more, taken, reason) => {
  const { name, why } = choose(more);
  expect(name).toBe(taken);
  expect(why('big-f16')).toMatch(reason);
});

test('a variant without a figure of the catalog’s is held to the estimate of its memory', () => {
  const large: Variant = { ...small, name: 'large', kvValues: 50_000, contextLength: 8192 };
  const own: CatalogModel = { ...model, variants: [large, small] };
  const { variant, reasons } = chooseVariant(own, device({ memoryGiB: 1 }));
  expect(variant?.name).toBe('small');
  expect(reasons[1]?.reason).toMatch(/^needs 1\.\d GB of memory, and this device has about 1 GB in all$/);
});

test('what is stored is not downloaded: neither storage nor saving data speak against it', () => {
  const states = { 'big-f16': { missingBytes: 0 } };
  expect(choose({ saveData: true, storage: { quotaBytes: 1, usedBytes: 1 } }, [], states).name).toBe(
    'big-f16',
  );
});

test('faults known of before are told as they were', () => {
  const { name, why } = choose({}, [], { 'big-f16': { fault: 'weights not reachable' } });
  expect(name).toBe('big-f32');
  expect(why('big-f16')).toBe('weights not reachable');
});

test('a page prefers a variant, but not against what the device can do', () => {
  expect(choose({}, ['small']).name).toBe('small');
  expect(choose(gpu({ features: [] }), ['big-f16']).name).toBe('big-f32');
});

test('web-llm needs a real GPU, unless its variant says otherwise', () => {
  const chosen = (needs?: Variant['needs']) => {
    const { needs: _, ...bare } = wide;
    const own = { ...model, variants: [{ ...bare, ...(needs && { needs }) }, small] };
    return chooseVariant(own, device(gpu({ fallback: true }))).variant?.name;
  };
  expect(chosen()).toBe('small');
  expect(chosen({ memoryBytes: 1 })).toBe('small');
  expect(chosen({ webgpu: false })).toBe('big-f32');
});

test('a variant that is only for pages that prefer it is left to them', () => {
  const reserved: CatalogModel = { ...model, variants: [{ ...big, optIn: true }] };
  const { variant, reasons } = chooseVariant(reserved, device());
  expect(variant).toBeNull();
  expect(reasons[0]?.reason).toBe('is used only when a page prefers it');
  expect(chooseVariant(reserved, device(), ['big-f16']).variant?.name).toBe('big-f16');
});

test('none left: no variant, and every reason', () => {
  const lost = { fault: 'lost' };
  const { name, reasons } = choose({}, [], { 'big-f16': lost, 'big-f32': lost, small: lost });
  expect(name).toBeUndefined();
  expect(reasons.map(({ variant, chosen }) => [variant, chosen])).toEqual([
    ['big-f16', false],
    ['big-f32', false],
    ['small', false],
  ]);
});
