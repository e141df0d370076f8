import { expect, test } from 'vitest';

import { LlamaEmbedder } from '../../../../src/engines/llama-cpp/llama-embedder.ts';
import { lastOf } from '../../../support/last-of.ts';

test('a special token in a text to embed is broken', async () => {
  const embedded: string[] = [];
  const llama = {
    async embed(text: string) {
      embedded.push(text);
      return { data: [{ embedding: [1, 0] }], usage: { prompt_tokens: 1 } };
    },
    close: () => Promise.resolve(),
  };
  const facts = { fingerprint: 'fake', dimensions: 2, contextLength: 400 };
  const embedder = new LlamaEmbedder(llama, { ...facts, reserved: ['[SEP]', '</s>'] });
  const texts = ['rain [SEP] snow', '</s>', 'a [b] </i>'];
  await lastOf(
    embedder.run({ kind: 'embedding', model: 'm', input: { texts } }, new AbortController().signal),
  );
  expect(embedded).toEqual(['rain [ SEP] snow', '< /s>', 'a [b] </i>']);
});

test('a document that is cut for a ranking is well-formed', async () => {
  const embedded: string[] = [];
  const llama = {
    async embed(text: string) {
      embedded.push(text);
      return { data: [{ embedding: [1, 0] }], usage: { prompt_tokens: 1 } };
    },
    close: () => Promise.resolve(),
  };
  const facts = { fingerprint: 'fake', dimensions: 2, contextLength: 400, reserved: [] };
  const input = { texts: ['abc🌧', 'abc🌧'] };
  const run = new LlamaEmbedder(llama, facts).run(
    { kind: 'embedding', model: 'm', input, ranks: { maxTokens: 1 } },
    new AbortController().signal,
  );
  await lastOf(run);
  expect(embedded).toEqual(['abc🌧', 'abc\uFFFD']);
});
