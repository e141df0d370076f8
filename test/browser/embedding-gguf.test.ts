import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { beforeAll, expect, test } from 'vitest';

import type { VariantOf } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import { firstLayers } from '../support/first-layers.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { miniLmGguf, POOLINGS } from '../support/mini-lm-gguf.ts';
import { sharedPage } from '../support/shared-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { send } from '../support/send.ts';
import { addGguf } from '../support/add-gguf.ts';
import { dot, post } from '../support/ask-page.ts';
import { modelOf } from '../support/catalogs.ts';
import { GGUF } from '../support/smollm2.ts';

/** llama.cpp's number for the pooling of the last token. */
const LAST = 3;
const TEXTS = [
  'hi',
  'What is the capital of France?',
  'Paris is the capital and most populous city of France.',
  'Wie komme ich am schnellsten zum Bahnhof?',
  'The sea is wide, and a small boat goes far. '.repeat(12),
];
/** The site's embedding model, whose vectors are its first token's: the mean it was trained for is the default. */
const CLS = 'first-token';
const float = defaultCatalog.models
  .find(({ id }) => id === 'jade-mole-4')
  ?.variants.find(({ name }) => name === 'all-minilm-l6-v2-f32') as VariantOf<'transformers'>;
const catalog = extendCatalog(defaultCatalog, {
  models: [modelOf(CLS, [{ ...float, name: 'first-token-f32', pooling: 'cls', optIn: false }], 'embedding')],
});
const tab = sharedPage({ catalog, prefer: [float.name] });
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('embedding-gguf');
});

async function embedAll(model: string) {
  const json = { model, input: TEXTS };
  const { data, usage } = await post<OpenAI.CreateEmbeddingResponse>(tab.page, tab.key, 'embeddings', json);
  return { vectors: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens };
}

async function status(model: string, more: object) {
  const sent = await send<{ error: { param: string } }>(tab.page, tab.key, '/v1/embeddings', {
    model,
    ...more,
  });
  return [sent.status, sent.body] as const;
}

test('a BERT in GGUF makes the vectors that its weights make in ONNX', async () => {
  const file = join(folder, 'all-MiniLM-L6-v2.F32.gguf');
  await writeFile(file, await miniLmGguf());
  const { id, ...details } = await addGguf(tab.page, file);
  expect(details).toMatchObject({
    architecture: 'bert',
    canChat: false,
    contextLength: 512,
    embedding: { dimensions: 384, pooling: 'mean' },
  });
  const own = await embedAll(id);
  const onnx = await embedAll('jade-mole-4');
  expect(own.tokens).toBe(onnx.tokens);
  for (const [index, vector] of own.vectors.entries()) {
    expect(vector).toHaveLength(384);
    expect(dot(vector, onnx.vectors[index]), TEXTS[index]).toBeGreaterThan(0.9999);
  }
  const [tooLong, { error }] = await status(id, { input: ['short', 'a word '.repeat(600)] });
  expect([tooLong, error.param]).toEqual([400, 'input[1]']);
  const [shortened, { error: refused }] = await status(id, { input: 'short', dimensions: 64 });
  expect([shortened, refused.param]).toEqual([400, 'dimensions']);
});

test('vectors of the first token are those of native llama.cpp, in GGUF and in ONNX', async () => {
  const file = join(folder, 'first-token.gguf');
  await writeFile(file, await miniLmGguf(POOLINGS.cls));
  const { id, embedding } = await addGguf(tab.page, file);
  expect(embedding).toEqual({ dimensions: 384, pooling: 'cls' });
  const gguf = await embedAll(id);
  const onnx = await embedAll(CLS);
  const mean = await embedAll('jade-mole-4');
  const server = await LlamaServer.start(file, 'key', [], { pooling: 'CLS' });
  for (const [index, vector] of (await server.embed(TEXTS)).entries()) {
    expect(dot(vector, gguf.vectors[index]), TEXTS[index]).toBeGreaterThan(0.9999);
    expect(dot(vector, onnx.vectors[index]), TEXTS[index]).toBeGreaterThan(0.9999);
    expect(dot(vector, mean.vectors[index]), TEXTS[index]).toBeLessThan(0.99);
  }
});

test('a decoder with the pooling of its last token makes the vectors of native llama.cpp', async () => {
  const file = join(folder, 'last-token.gguf');
  await writeFile(file, await firstLayers(GGUF, 2, LAST));
  const { id, ...details } = await addGguf(tab.page, file);
  expect(details).toMatchObject({
    architecture: 'llama',
    canChat: false,
    embedding: { dimensions: 576, pooling: 'last_token' },
  });
  const own = await embedAll(id);
  const server = await LlamaServer.start(file, 'key', [], { pooling: 'LAST' });
  const native = await server.embed(TEXTS);
  for (const [index, vector] of own.vectors.entries())
    expect(dot(vector, native[index]), TEXTS[index]).toBeGreaterThan(0.9999);
});
