import { expect, test } from 'vitest';

import { inspectVariant } from '../../../../src/engines/wllama/inspect-variant.ts';
import type { WllamaVariant } from '../../../../src/engines/wllama/rules.ts';
import { ggufVariant } from '../../../support/catalogs.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';

/** @param contents metadata of each file by the name of its only tensor */
async function inspect(fields: Partial<WllamaVariant>, contents: Record<string, GgufMetadata>) {
  const names = Object.keys(contents);
  const blobs = Object.entries(contents).map(([name, own]) => {
    const metadata = { ...chatMetadata, ...own };
    return new Blob([writeGguf({ metadata, tensors: [{ ...oneTensor, name }] })]);
  });
  const files = names.map((name) => ({ path: `${name}.gguf`, bytes: 1, sha256: '' }));
  const { blobs: sorted, ...inspected } = await inspectVariant(ggufVariant('m', { ...fields, files }), blobs);
  return { ...inspected, order: sorted.map((blob) => names[blobs.indexOf(blob)]).join(' ') };
}

const [rank, mean] = [{ pooling: 'rank' as const }, { dimensions: 64, pooling: 'mean' as const }];
const bert = { 'general.architecture': 'bert', 'bert.embedding_length': 64 };
const adapter = { 'general.type': 'adapter' };
const part = (index: number): GgufMetadata => ({ 'split.no': index, 'split.count': 3 });

test.each<[Partial<WllamaVariant>, Record<string, GgufMetadata>, string]>([
  [{}, { a: { 'llama.pooling_type': 3 } }, "`dimensions: 64` and `pooling: 'last_token'`"],
  [{}, { 'cls.weight': {} }, "cls.weight.gguf is that of a reranker: give the variant `pooling: 'rank'`"],
  [mean, { a: { 'tokenizer.ggml.model': 'none' } }, 'a.gguf gives none as tokenizer.ggml.model'],
  [rank, { a: {} }, "a.gguf is not that of a reranker, as `pooling: 'rank'` says"],
  [rank, { a: { 'llama.pooling_type': 4 } }, 'a.gguf gives 4 as llama.pooling_type, and has no classifier'],
  [rank, { 'cls.weight': { 'tokenizer.chat_template.rerank': 'Rate {query}' } }, 'has no {document} in its'],
  [{ dimensions: 64 }, { a: bert }, 'a.gguf names no pooling: give the variant `pooling`'],
  [{}, { a: part(2), b: part(0), c: part(0) }, 'of 3 files, and 3 were given: add each of them once'],
  [{}, { a: {}, b: { ...adapter, 'adapter.lora.alpha': { f32: Infinity } } }, 'b.gguf gives Infinity as'],
])('a variant with %o is not loaded from %o', async (fields, contents, message) => {
  const text = expect.stringMatching(/^The model m could not be loaded: .* in the catalog\.$/) as string;
  const error: unknown = await inspect(fields, contents).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'model_load_failed', message: text });
  expect(String(error)).toContain(message);
});

test('the headers of files decide about their order and roles', async () => {
  const parts = { a: part(2), b: { ...part(0), 'llama.pooling_type': 4 }, c: part(1) };
  const traits = { reranks: true, canChat: false, embedding: null };
  expect(await inspect(rank, parts)).toMatchObject({ order: 'b c a', traits });
  expect(await inspect(mean, { 'cls.weight': {} })).toMatchObject({ traits });
  const adapted = await inspect({}, { a: adapter, b: {} });
  expect(adapted).toMatchObject({ order: 'b a', roles: [undefined, 'adapter'] });
});
