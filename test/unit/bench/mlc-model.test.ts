import { expect, test } from 'vitest';

import { catalogSchema } from '../../../src/catalog/catalog-schema.ts';
import { MLC_FOLDER, mlcUrls, mlcVariant } from '../../support/mlc-model.ts';

const model = 'https://models.example.com/m/resolve/main';
const library = 'https://models.example.com/m.wasm';

test('both URLs or none are given', () => {
  expect(mlcUrls(undefined, undefined)).toBeNull();
  expect(mlcUrls(model, library)).toEqual({ model: `${model}/`, library });
  expect(mlcUrls(`${model}/`, library)).toEqual({ model: `${model}/`, library });
});

test.each([
  [model, undefined, /^--mlc-lib must be a URL .* and is missing\. Give both: --mlc-model/],
  [undefined, library, /^--mlc-model must be a URL .* and is missing/],
  ['m/resolve/main', library, /^--mlc-model must be a URL .* not m\/resolve\/main/],
  [model, 'file:///m.wasm', /^--mlc-lib must be a URL .* not file:\/\/\/m\.wasm/],
])('the model %s with the library %s is refused', (given, lib, message) => {
  expect(() => mlcUrls(given, lib, 'mlc-')).toThrow(message);
});

test('the variant stands in a catalog', () => {
  const file = { path: `${MLC_FOLDER}/mlc-chat-config.json`, bytes: 1, sha256: '0'.repeat(64), url: model };
  const variant = mlcVariant({ library: `${MLC_FOLDER}/model-library.wasm`, files: [file] });
  const catalog = { ownedBy: 'us', models: [{ id: 'm', kind: 'chat', created: 0, variants: [variant] }] };
  expect(catalogSchema.safeParse(catalog).error).toBeUndefined();
});
