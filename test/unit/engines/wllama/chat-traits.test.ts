import { expect, test } from 'vitest';

import { chatTraits } from '../../../../src/engines/wllama/chat-traits.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';

const traits = (metadata: GgufMetadata) =>
  chatTraits(
    'tiny-q8',
    new Blob([writeGguf({ metadata: { ...chatMetadata, ...metadata }, tensors: [oneTensor] })]),
  );

test.each<[string, GgufMetadata, string]>([
  [
    'an embedding model',
    { 'llama.pooling_type': 3 },
    "its file is that of an embedding model. Give the variant `dimensions: 64` and `pooling: 'last_token'` in the catalog",
  ],
  [
    'a reranking model',
    { 'llama.pooling_type': 4 },
    "its file is that of a reranker. Give the variant `pooling: 'rank'` in the catalog",
  ],
  ['an adapter', { 'general.type': 'adapter' }, 'its file is no model, but a LoRA adapter'],
])('%s of a catalog is not loaded for chat', async (_, metadata, message) => {
  await expect(traits(metadata)).rejects.toMatchObject({
    code: 'model_load_failed',
    message: expect.stringContaining(`The model tiny-q8 could not be loaded: ${message}`) as string,
  });
});

test('a chat model has its traits, and llama.cpp decides about a file that is not understood', async () => {
  expect(await traits({})).toMatchObject({ architecture: 'llama', canChat: true });
  expect(await traits({ 'general.architecture': 'nonsense' })).toBeNull();
  expect(await chatTraits('tiny-q8', new Blob(['GGUF']))).toBeNull();
});
