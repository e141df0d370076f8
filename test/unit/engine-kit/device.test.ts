import { expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { detectDevice, type DeviceNavigator } from '../../../src/engine-kit/device.ts';
import { ENGINES } from '../../../src/engines/index.ts';
import { variantPlanner } from '../../../src/models/variant-choice.ts';

/** What a browser's own object gives, as far as it is read. */
function adapter(info: Partial<GPUAdapterInfo>): GPUAdapter {
  return {
    info: { vendor: 'acme', architecture: 'one', description: '', ...info },
    features: new Set(['subgroups', 'shader-f16']),
  } as unknown as GPUAdapter;
}

const withGpu = (gpu: GPUAdapter | null): DeviceNavigator => ({ gpu: { requestAdapter: async () => gpu } });

test('a device in full', async () => {
  const device = await detectDevice({
    ...withGpu(adapter({})),
    deviceMemory: 8,
    hardwareConcurrency: 4,
    connection: { saveData: true },
  });
  expect(device).toEqual({
    gpu: { name: 'acme one', fallback: false, features: ['shader-f16', 'subgroups'] },
    memoryGiB: 8,
    cores: 4,
    saveData: true,
  });
});

const refuses = () => Promise.reject(new Error('no'));

test('a browser that tells nothing, or fails at it', async () => {
  const nothing = { gpu: null, memoryGiB: null, cores: 1, saveData: false };
  expect(await detectDevice({})).toEqual(nothing);
  expect(await detectDevice({ gpu: { requestAdapter: refuses } })).toEqual(nothing);
  expect((await detectDevice(withGpu(null))).gpu).toBeNull();
});

test('a software GPU is distinguished, by flag or by name', async () => {
  expect((await detectDevice(withGpu(adapter({ isFallbackAdapter: true })))).gpu?.fallback).toBe(true);
  expect((await detectDevice(withGpu(adapter({ architecture: 'swiftshader' })))).gpu?.fallback).toBe(true);
});

test.each([
  [0, 100],
  [80, 20],
])('%i ms after the first request, a GPU that is offered %i ms later is found', async (age, wait) => {
  vi.useFakeTimers();
  const began = Date.now();
  const requestAdapter = async () => (Date.now() < began + wait ? null : adapter({}));
  // One that is offered: the next that is not may be late again.
  await detectDevice(withGpu(adapter({})));
  const detecting = detectDevice({ gpu: { requestAdapter } }, began - age);
  await vi.advanceTimersByTimeAsync(wait);
  expect((await detecting).gpu?.name).toBe('acme one');
});

test('a driver that never answers counts as no GPU', async () => {
  vi.useFakeTimers();
  const detecting = detectDevice({ gpu: { requestAdapter: () => new Promise(() => undefined) } });
  await vi.advanceTimersByTimeAsync(3000);
  expect((await detecting).gpu).toBeNull();
});

test('an iPhone, which does not report memory, is counted as a small device', async () => {
  const iPhone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1';
  const device = await detectDevice({ userAgent: iPhone, hardwareConcurrency: 8 });
  expect(device.memoryGiB).toBe(1.5);
  const sources = {
    fault: async () => undefined,
    missingBytes: async () => 1,
    room: async () => ({ needed: 1, free: null }),
  };
  const plan = variantPlanner({ device: Promise.resolve(device), variantFiles: sources, engines: ENGINES });
  for (const model of defaultCatalog.models) {
    const { candidates } = await plan(model, new Map());
    // Of those without a GPU the smallest, although it has cores enough for more.
    expect(candidates[0]?.name).toMatch(/^(smollm2-135m|all-minilm)/);
  }
  const mac =
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.6 Safari/605.1.15';
  expect((await detectDevice({ userAgent: mac })).memoryGiB).toBeNull();
});
