import { beforeAll, beforeEach, expect, test } from 'vitest';

import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { addedFormat, listModels } from '../../../../src/weights/added/repository-models.ts';
import { ENGINES } from '../../../../src/engines/index.ts';
import { VariantFiles } from '../../../../src/weights/sources/variant-files.ts';
import { ModelHub } from '../../../support/model-hub.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { weightsService } from '../weights-service.ts';
import { adderOf } from './adder-of.ts';
import { never } from '../../../support/never.ts';

const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'site-model', kind: 'chat', created: 0, variants: [] }],
};

let hub: ModelHub;
let service: ReturnType<typeof weightsService>;
let variantFiles: VariantFiles;

beforeAll(async () => {
  hub = await ModelHub.start();
});
beforeEach(() => {
  service = weightsService(catalog);
  variantFiles = new VariantFiles(service.store, hub.url, { hub: hub.url });
});

const publish = (files: Record<string, Buffer | string>): string =>
  hub.publish(
    'owner/small-embedder',
    Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
  );
const source = { type: 'hub', repository: 'owner/small-embedder', file: null, revision: null } as const;
const list = async () => listModels(source, variantFiles, await addedFormat(ENGINES), never);

const embeds = (architecture: string, task: string) => ({ gguf: { architecture }, pipeline_tag: task });
const inspect = () => adderOf(catalog, service, [], { variantFiles }).inspect(source, never);

test.each([
  ['an encoder', { gguf: { architecture: 'bert' } }, 'embedding'],
  ['an embedding model of a chat architecture', embeds('qwen3', 'feature-extraction'), 'embedding'],
  ['a model for similarity', embeds('gemma3', 'sentence-similarity'), 'embedding'],
  ['a chat model', embeds('qwen3', 'text-generation'), 'chat'],
  ['something unknown', { gguf: 'bert', pipeline_tag: 3 }, 'chat'],
])('offers the GGUF files of what the hub calls %s as such', async (_, info, kind) => {
  const file = writeGguf({ metadata: chatMetadata, tensors: [oneTensor] });
  hub.publish('owner/small-embedder', { 'a.gguf': file }, { info });
  expect(await list()).toMatchObject([{ kind, file: 'a.gguf' }]);
});

test('says that it guesses the pooling of a file that names none', async () => {
  const { 'general.architecture': _, ...others } = chatMetadata;
  const bert = { ...others, 'general.architecture': 'bert', 'bert.embedding_length': 64 };
  const inspected = (metadata: GgufMetadata) => {
    publish({ 'a.gguf': writeGguf({ metadata, tensors: [oneTensor] }) });
    return inspect();
  };
  expect(await inspected(bert)).toMatchObject({ warning: expect.stringContaining('mean') as string });
  expect(await inspected({ ...bert, 'bert.pooling_type': 1 })).not.toHaveProperty('warning');
});

test('warns where a file is tagged as an embedding model and is taken for chat', async () => {
  const tagged = { ...chatMetadata, 'general.tags': ['feature-extraction'] };
  publish({ 'a.gguf': writeGguf({ metadata: tagged, tensors: [oneTensor] }) });
  const warning = expect.stringContaining('added for chat') as string;
  expect(await inspect()).toMatchObject({ canChat: true, warning });
});

test('a repository of ONNX graphs alone is refused', async () => {
  publish({ 'config.json': '{}', 'tokenizer.json': '{}', 'onnx/model.onnx': 'a graph' });
  await expect(inspect()).rejects.toMatchObject({
    message: expect.stringContaining('has no GGUF file') as string,
    wire: { status: 400, code: 'unsupported_model' },
  });
});

test('a gated repository is named as such', async () => {
  hub.publish('owner/small-embedder', { 'config.json': Buffer.from('{}') }, { gated: true });
  await expect(inspect()).rejects.toThrow(/authors ask for consent/);
});
