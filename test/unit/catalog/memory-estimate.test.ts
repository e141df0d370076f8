import { expect, test } from 'vitest';

import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import type { MemoryEstimate, SizedVariant } from '../../../src/catalog/engine-rules.ts';
import { chooseContext, estimateMemory } from '../../../src/catalog/memory-estimate.ts';

const MB = 1e6;
const gguf: SizedVariant = {
  engine: 'wllama',
  contextLength: 8192,
  kvValues: 32_000,
  files: [{ bytes: 500 * MB }],
};
const bytesOf = (variant: SizedVariant): number => estimateMemory(variant).memoryBytes;

test('weights, KV cache and saved prompt states are counted; the states as large as the cache', () => {
  const { memoryBytes, promptStateBytes } = estimateMemory(gguf);
  expect(promptStateBytes).toBe(32_000 * 34 * 256);
  expect(memoryBytes).toBeGreaterThan(500 * MB + 2 * promptStateBytes);
  const half = estimateMemory({ ...gguf, contextLength: 4096 });
  expect(memoryBytes - half.memoryBytes).toBe(promptStateBytes);
});

test.each([
  ['Gemma 3 270M', 253_113_024, 18 * 512, { values: 15 * 512, tokens: 512 }, 599],
  ['Qwen2.5-Coder 0.5B', 491_400_064, 24 * 2 * 128, undefined, 1026],
])(
  '%s in Q4_K_M: by its header, the estimate is within 15 %% of the peak',
  (_, bytes, kvValues, kvWindow, peak) => {
    const { memoryBytes, promptStateBytes } = estimateMemory({
      engine: 'wllama',
      contextLength: 8192,
      kvValues,
      ...(kvWindow && { kvWindow }),
      files: [{ bytes }],
    });
    expect(Math.abs((memoryBytes - promptStateBytes) / (peak * MB) - 1)).toBeLessThan(0.15);
  },
);

test('the catalog’s own figure comes first; a server’s model takes nothing here', () => {
  expect(bytesOf({ ...gguf, needs: { memoryBytes: 5 } })).toBe(5);
  expect(estimateMemory({ ...gguf, engine: 'upstream', files: [] })).toEqual({
    memoryBytes: 0,
    promptStateBytes: 0,
  });
});

test('a GGUF that does not say how large its cache is takes a share of its weights for it', () => {
  const { kvValues: _, ...unknown } = gguf;
  expect(estimateMemory(unknown).promptStateBytes).toBe(100 * MB);
});

const Q8 = 34 / 32;

test('layers with a sliding window keep a window for each of four replies, and never more than the context', () => {
  const own = (contextLength: number): number => {
    const windowed = { ...gguf, contextLength, kvWindow: { values: 24_000, tokens: 512 } };
    const { memoryBytes, promptStateBytes } = estimateMemory(windowed);
    return memoryBytes - promptStateBytes;
  };
  const whole = ({ memoryBytes, promptStateBytes }: MemoryEstimate): number => memoryBytes - promptStateBytes;
  const without = (contextLength: number): number => whole(estimateMemory({ ...gguf, contextLength }));
  // Rounded up to 256 cells.
  expect(without(8192) - own(8192)).toBeCloseTo(24_000 * (8192 - 2304) * Q8, -1);
  expect(own(2048)).toBe(without(2048));
});

test('what cannot go back has earlier states, and four conversations of it are saved', () => {
  const states = (more: object): number => estimateMemory({ ...gguf, ...more }).promptStateBytes;
  const plain = states({});
  const [small, large] = [20 * MB, 50 * MB];
  // Two earlier states of each of four replies, and of each saved conversation with itself; a large one has one.
  expect(states({ stateBytes: small })).toBe(plain + (4 * 2 + 4 * 3) * small);
  expect(states({ stateBytes: large })).toBe(plain + (4 * 1 + 4 * 2) * large);
  const window = 24_000 * Q8 * 512;
  expect(states({ kvWindow: { values: 24_000, tokens: 512 } })).toBeCloseTo(
    8000 * 8192 * Q8 + 20 * window,
    -1,
  );
  expect(bytesOf({ ...gguf, stateBytes: small }) - bytesOf(gguf)).toBe((4 + 20) * small);
});

test('of the hub’s weights the approximate size counts', () => {
  const hub = { repository: 'o/r', revision: 'main', folder: 'f', approximateBytes: 500 * MB };
  expect(bytesOf({ ...gguf, files: [], hub })).toBe(bytesOf(gguf));
});

test('the longest context that fits is chosen, and never one below the shortest', () => {
  expect(chooseContext({ ...gguf, contextLength: 32_768 }, () => true)).toBe(8192);
  const limit = bytesOf({ ...gguf, contextLength: 2048 });
  expect(chooseContext(gguf, (bytes) => bytes <= limit)).toBe(2048);
  expect(chooseContext(gguf, () => false)).toBe(1024);
});

test('every variant of the default catalog that runs here has an estimate above its weights', () => {
  for (const { variants } of defaultCatalog.models)
    for (const variant of variants) expect(bytesOf(variant), variant.name).toBeGreaterThan(23 * MB);
});
