import { expect, test, vi } from 'vitest';

import type { Variant } from '../../../src/catalog/catalog.ts';
import { VariantLoader, type LoaderOptions } from '../../../src/models/load-variant.ts';
import type { EnginePlugin } from '../../../src/engine-kit/engine.ts';
import { deviceLost } from '../../../src/base/errors/engine-errors.ts';
import { serverError, type ServiceError } from '../../../src/base/errors/service-error.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import type { WeightStore } from '../../../src/weights/weight-store.ts';
import { openStore } from '../weights/open-store.ts';

const variant: Variant = {
  engine: 'transformers',
  name: 'm',
  license: 'MIT',
  contextLength: 1024,
  backend: 'wasm',
  dimensions: 384,
  pooling: 'mean',
  files: [],
};

/** A variant for which the GPU was found to be the faster, and whose load on the GPU fails. */
async function failOnGpu(failure: ServiceError) {
  const loads: string[] = [];
  const plugin = {
    onBackend: (each: Variant, backend: string) => ({ ...each, backend }),
    load: async ({ backend }: { backend: string }) => {
      loads.push(backend);
      throw failure;
    },
  } as unknown as EnginePlugin;
  const disable = vi.fn();
  const loader = loaderOf({
    engines: { transformers: plugin },
    store: () => Promise.resolve(openStore(new MemoryBackend(), 'http://site.invalid/')),
    benchmark: { backend: async () => 'webgpu', maybeRun: async () => undefined, disable },
  });
  await expect(loader.load(variant, options)).rejects.toBe(failure);
  return { loads, disabled: disable.mock.calls.length };
}

const options = { signal: new AbortController().signal, onProgress: () => undefined };

const loaderOf = (own: Pick<LoaderOptions, 'engines' | 'store' | 'benchmark'>): VariantLoader =>
  new VariantLoader({
    ...own,
    variantFiles: { resolve: async (each: Variant) => each } as unknown as LoaderOptions['variantFiles'],
    modelStorage: {
      note: async () => undefined,
      withRoom: (_files, _signal, work) => work(),
      used: async () => undefined,
    },
    wasmUrl: 'http://site.invalid/wasm/',
    page: {} as unknown as LoaderOptions['page'],
  });

// transformers.js may wait for a file forever.
test('a file that cannot be opened aborts the load, also that of an engine which ignores it', async () => {
  const failure = serverError('weights_unavailable', 'no file');
  const file = { path: 'm/model.onnx', bytes: 1, sha256: '0'.repeat(64) };
  let signal: AbortSignal | undefined;
  const load: EnginePlugin['load'] = async (_, context) => {
    ({ signal } = context);
    context.file(file.path).catch(() => undefined);
    return new Promise(() => undefined);
  };
  const opening = () => Promise.reject(failure);
  const loader = loaderOf({
    engines: { transformers: { load } as unknown as EnginePlugin },
    store: async () => ({ missing: async () => [], file: opening }) as unknown as WeightStore,
    benchmark: { backend: async () => 'wasm', maybeRun: async () => undefined, disable: vi.fn() },
  });
  await expect(loader.load({ ...variant, files: [file] }, options)).rejects.toBe(failure);
  expect(signal?.reason).toBe(failure);
});

test('a GPU that fails is not used for the variant again: it is loaded on the processor', async () => {
  expect(await failOnGpu(deviceLost())).toEqual({ loads: ['webgpu', 'wasm'], disabled: 1 });
});

test.each(['download_cancelled', 'weights_unavailable', 'weights_corrupt', 'build_replaced'] as const)(
  '%s says nothing about the GPU, and nothing is loaded in its place',
  async (code) => {
    expect(await failOnGpu(serverError(code, 'no file'))).toEqual({ loads: ['webgpu'], disabled: 0 });
  },
);
