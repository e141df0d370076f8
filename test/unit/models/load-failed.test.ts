import { expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { loadFailed, requireWasm } from '../../../src/models/load-failed.ts';

const variant = defaultCatalog.models.at(-1)?.variants.at(-1);
if (!variant) throw new Error('the default catalog is empty');

test.each([
  [new RangeError('Array buffer allocation failed'), 'out_of_memory', /too little memory/],
  [
    new TypeError('Failed to fetch dynamically imported module: https://a.example/x.js'),
    'model_load_failed',
    /new version: call update\(\), then reload the tabs/,
  ],
  [new TypeError('error loading dynamically imported module: x'), 'model_load_failed', /reload the tabs/],
  [new TypeError('Importing a module script failed.'), 'model_load_failed', /reload the tabs/],
  [new Error('no operator'), 'model_load_failed', /the engine reported: no operator\. Check its files/],
])('%s is told as %s', (cause, code, message) => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { wire } = loadFailed(variant, cause);
  expect(wire).toMatchObject({ code, message: expect.stringMatching(message) as string });
});

test('a policy that forbids WebAssembly is named before anything is fetched', () => {
  requireWasm(variant);
  vi.spyOn(WebAssembly, 'Module').mockImplementation(function refuse() {
    throw new WebAssembly.CompileError('blocked');
  });
  expect(() => requireWasm(variant)).toThrow("Add 'wasm-unsafe-eval' to its script-src");
});
