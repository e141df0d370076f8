import { createHash } from 'node:crypto';

import { prebuiltAppConfig } from '@mlc-ai/web-llm';
import { expect, test } from 'vitest';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { withBuiltIn } from '../../../src/catalog/with-built-in.ts';
import { CatalogError, extendCatalog, parseCatalog } from '../../../src/catalog/parse-catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { DEFAULT_CATALOG_HASH } from '../../../src/catalog/default-catalog-hash.ts';
import { ggufVariant, modelOf, serverVariant } from '../../support/catalogs.ts';

const gguf = ggufVariant('own-q8', { files: [{ path: 'own/model.gguf', bytes: 5, sha256: 'a'.repeat(64) }] });
const lora = { ...gguf.files[0], path: 'own/lora.gguf', role: 'adapter' };
const server = serverVariant('our-server', 'https://models.example.com/v1', { model: 'large' });
const own = modelOf('own-1', [gguf]);
const catalog = (model: object, more: object = {}): unknown => ({
  ownedBy: 'us',
  models: [{ ...own, ...model }],
  ...more,
});
const withVariant = (variant: object): unknown => catalog({ variants: [{ ...gguf, ...variant }] });
const withFile = (file: object): unknown => withVariant({ files: [{ ...gguf.files[0], ...file }] });

function faults(value: unknown): string[] {
  try {
    parseCatalog(value);
    return [];
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

test('the default catalog is sound, and every last variant is small, pinned and needs nothing', () => {
  expect(faults(defaultCatalog)).toEqual([]);
  expect(defaultCatalog.models.map(({ id }) => id)).toEqual([
    'crimson-falcon-4',
    'indigo-owl-4',
    'amber-phoenix-4',
    'jade-mole-4',
  ]);
  for (const { variants } of defaultCatalog.models) {
    const last = variants.at(-1);
    expect(last?.needs).toBeUndefined();
    expect(last?.hub).toBeUndefined();
    expect(last?.files.length).toBeGreaterThan(0);
    expect(last?.files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(200e6);
  }
});

test('a site may use the float32 embeddings of the default catalog for all its pages', () => {
  const float = defaultCatalog.models.flatMap(({ variants }) => variants).find(({ optIn }) => optIn);
  if (!float) throw new Error('no variant is opt-in');
  const { optIn: _, ...always } = float;
  const models = [{ id: 'float', kind: 'embedding' as const, created: 0, variants: [always] }];
  expect(extendCatalog(defaultCatalog, { models }).models.at(-1)?.variants).toEqual([always]);
});

test('the hash of the default catalog is that of its content', () => {
  const hash = createHash('sha256').update(JSON.stringify(defaultCatalog)).digest('hex').slice(0, 16);
  expect(DEFAULT_CATALOG_HASH, 'put this hash into src/catalog/default-catalog-hash.ts').toBe(hash);
});

test('an ONNX model is for embeddings', () => {
  expect(faults(withVariant({ engine: 'transformers', dimensions: 8, pooling: 'cls' }))).toEqual([
    'models[0].variants[0].engine: makes an embedding model, and own-1 is for chat',
  ]);
});

test('the web-llm builds are those of the package’s own list: repository, library, memory, half floats', () => {
  const builds = defaultCatalog.models.flatMap(({ variants }) =>
    variants.filter((variant) => variant.engine === 'web-llm'),
  );
  expect(builds.length).toBeGreaterThan(5);
  for (const { hub, library, needs, name } of builds) {
    const record = prebuiltAppConfig.model_list.find(
      ({ model }) => model === `https://huggingface.co/${hub?.repository}`,
    );
    expect(record, name).toBeDefined();
    expect(library).toBe(record?.model_lib);
    expect(needs?.memoryBytes).toBe(Math.round((record?.vram_required_MB ?? 0) * 2 ** 20));
    expect(needs?.features).toEqual(name.includes('f16') ? ['shader-f16'] : undefined);
  }
});

test.each<[string, unknown, RegExp]>([
  ['nothing', null, /^catalog: /],
  ['no models', { ownedBy: 'us' }, /^models: /],
  [
    'an unknown kind',
    catalog({ kind: 'image' }),
    /^models\[0\]\.kind: must be chat, embedding, transcription, speech or rerank/,
  ],
  ['no variants', catalog({ variants: [] }), /^models\[0\]\.variants: must name at least one variant/],
  [
    'an unknown engine',
    withVariant({ engine: 'magic' }),
    /^models\[0\]\.variants\[0\]\.engine: must be one of the engines/,
  ],
  ['a path up', withFile({ path: '../../etc/passwd' }), /files\[0\]\.path: must not climb out of its folder/],
  ['a path that climbs midway', withFile({ path: 'a/../../b' }), /files\[0\]\.path: must not climb/],
  ['an absolute path', withFile({ path: '/etc/passwd' }), /files\[0\]\.path: must be a relative path/],
  ['a URL as path', withFile({ path: 'https://x.example/a' }), /files\[0\]\.path: must be a relative path/],
  ['backslashes', withFile({ path: String.raw`a\..\b` }), /files\[0\]\.path: must be a relative path/],
  ['a share over 1', withVariant({ sampling: { minP: 1.5 } }), /sampling\.minP: /],
  ['an unknown sampling setting', withVariant({ sampling: { top_k: 5 } }), /sampling: .*top_k/],
  ['a high temperature', catalog({ defaults: { temperature: 3 } }), /^models\[0\]\.defaults\.temperature: /],
  ['a negative size', withFile({ bytes: -1 }), /files\[0\]\.bytes: must be more than 0 bytes/],
  ['a broken size', withFile({ bytes: 1.5 }), /files\[0\]\.bytes: must be a whole number of bytes/],
  ['a short hash', withFile({ sha256: 'abc' }), /files\[0\]\.sha256: must be a SHA-256/],
  ['a script for a URL', withFile({ url: 'javascript:alert(1)' }), /files\[0\]\.url: must be a URL/],
  ['a URL with a user', withFile({ url: 'https://a:b@x.example/a' }), /url: must be a URL .* without a user/],
  [
    'no files at all',
    withVariant({ files: [] }),
    /variants\[0\]\.files: must name at least one file, or a hub repository/,
  ],
  [
    'an adapter of a split model',
    withVariant({
      files: [...['own/1.gguf', 'own/2.gguf'].map((path) => ({ ...gguf.files[0], path })), lora],
    }),
    /variants\[0\]\.files: must have one file of the model beside its adapters/,
  ],
  ['adapters twice', withVariant({ files: [...gguf.files, lora, lora] }), /must have each adapter once/],
  ['an adapter alone', withFile({ role: 'adapter' }), /files: must have one file of the model/],
  [
    'dimensions without pooling',
    withVariant({ engine: 'transformers', dimensions: 8 }),
    /variants\[0\]\.pooling: must be mean, cls or last_token/,
  ],
  ['an unknown backend', withVariant({ engine: 'transformers', backend: 'npu' }), /backend: must be/],
  ['a negative context', withVariant({ contextLength: 0 }), /contextLength: must be more than 0 tokens/],
  [
    'a repository that climbs',
    withVariant({ hub: { repository: '../x', revision: 'main', folder: 'a', approximateBytes: 1 } }),
    /hub\.repository: must/,
  ],
  [
    'a revision that climbs',
    withVariant({ hub: { repository: 'o/x', revision: '..', folder: 'a', approximateBytes: 1 } }),
    /hub\.revision: must/,
  ],
  ['a server at no URL', catalog({ variants: [{ ...server, baseUrl: 'models' }] }), /baseUrl: must be a URL/],
  [
    'embeddings from a chat engine',
    catalog({ kind: 'embedding' }),
    /variants\[0\]\.engine: makes a chat model, and own-1 is for embedding/,
  ],
  [
    'a variant twice',
    catalog({ variants: [gguf, gguf] }),
    /variants\[1\]\.name: is taken already: two variants of own-1/,
  ],
  ['an id twice', { ownedBy: 'us', models: [own, own] }, /^models\[1\]\.id: is taken already/],
  [
    'one name for two weights',
    { ownedBy: 'us', models: [own, { ...own, id: 'own-2', variants: [{ ...gguf, contextLength: 1 }] }] },
    /^models\[1\]\.variants\[0\]\.name: is taken already by other weights/,
  ],
  [
    'an alias to nothing',
    catalog({}, { aliases: { gpt: 'nope' } }),
    /^aliases\.gpt: leads to nope, which is no model's id/,
  ],
  ['circular aliases', catalog({}, { aliases: { a: 'b', b: 'a' } }), /^aliases\.a: leads to another alias/],
  [
    'an alias that hides a model',
    catalog({}, { aliases: { 'own-1': 'own-1' } }),
    /^aliases\["own-1"\]: is the id of a model/,
  ],
])('%s: the fault is named with the way to it', (_, value, fault) => {
  expect(faults(value)).toContainEqual(expect.stringMatching(fault));
});

test('all errors are reported together, a line each', () => {
  const bad = withFile({ bytes: -1, sha256: 'x' });
  expect(faults(bad)).toHaveLength(2);
  expect(() => parseCatalog(bad)).toThrow(/invalid:\n {2}models\[0\].*\n {2}models\[0\]/);
});

test('a site adds models and names, puts its server first, and takes the place of a model', () => {
  const base: Catalog = { ownedBy: 'localtext', models: [own], aliases: { old: 'own-1' } };
  const second = { ...own, id: 'own-2', variants: [server] };
  const models = { ownedBy: 'us', models: [second] };
  const names = { prefer: { 'own-1': [server] }, aliases: { 'gpt-4o-mini': 'own-2' } };
  const extended = extendCatalog(base, models, names);
  expect(extended.ownedBy).toBe('us');
  expect(extended.models.map(({ id, variants }) => [id, variants.map(({ name }) => name)])).toEqual([
    ['own-1', ['our-server', 'own-q8']],
    ['own-2', ['our-server']],
  ]);
  expect(extended.aliases).toEqual({ old: 'own-1', 'gpt-4o-mini': 'own-2' });
  const replaced = extendCatalog(base, { models: [{ ...own, variants: [server] }] });
  expect(replaced.models).toEqual([{ ...own, variants: [server] }]);
  expect(base.models).toEqual([own]);
});

test('an extension that makes the catalog invalid is refused', () => {
  const base: Catalog = { ownedBy: 'localtext', models: [own] };
  expect(() => extendCatalog(base, { prefer: { nope: [server] } })).toThrow(/prefer\.nope: is no model's id/);
  expect(() => extendCatalog(base, { aliases: { a: 'nope' } })).toThrow(/aliases\.a: leads to nope/);
});

test('a chooser of tools must be an embedding model of the catalog', () => {
  const fault = 'models[0].variants[0].toolChooser: must be the id of an embedding model';
  for (const toolChooser of ['nope', 'own-1']) expect(faults(withVariant({ toolChooser }))).toEqual([fault]);
});

test('a copy of a variant may lack what newer versions say of its memory', () => {
  const newer = { ...gguf, kvValues: 10 };
  const models = [own, { ...own, id: 'own-2', variants: [newer] }];
  expect(() => parseCatalog({ ownedBy: 'us', models })).not.toThrow();
});

test("the browser's own model comes before a model's weights, or after them", () => {
  const plain: Catalog = { ownedBy: 'us', models: [own] };
  const names = (made: Catalog) => made.models[0]?.variants.map(({ name }) => name);
  expect(names(withBuiltIn(plain, 'own-1'))).toEqual(['built-in', 'own-q8']);
  const last = withBuiltIn(plain, 'own-1', { place: 'last', languages: ['en', 'ja'] });
  expect(names(last)).toEqual(['own-q8', 'built-in-en-ja']);
  expect(() => withBuiltIn(plain, 'nope')).toThrow(/models: have none with the id nope/);
  expect(() => withBuiltIn(plain, 'own-1', { languages: ['<b>'] })).toThrow(CatalogError);
});
