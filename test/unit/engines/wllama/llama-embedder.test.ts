import { expect, test } from 'vitest';

import { llamaEmbedder } from '../../../../src/engines/wllama/llama-embedder.ts';
import type { EmbeddingJob } from '../../../../src/jobs/embedding.ts';
import { lastOf } from '../../../support/last-of.ts';

/** Texts that llama.cpp embeds for these. */
async function embedded(
  texts: string[],
  reserved: string[],
  ranks?: EmbeddingJob['ranks'],
): Promise<string[]> {
  const given: string[] = [];
  const llama = {
    async embed(text: string) {
      given.push(text);
      return { data: [{ embedding: [1, 0] }], usage: { prompt_tokens: 1 } };
    },
    close: () => Promise.resolve(),
  };
  const traits = { fingerprint: 'fake', dimensions: 2, contextLength: 400, reserved };
  const job = { kind: 'embedding' as const, model: 'm', input: { texts }, ...(ranks && { ranks }) };
  await lastOf(llamaEmbedder(llama, traits).run(job, new AbortController().signal));
  return given;
}

test('a special token in a text to embed is broken', async () => {
  const texts = ['rain [SEP] snow', '</s>', 'a [b] </i>'];
  const broken = ['rain [ SEP] snow', '< /s>', 'a [b] </i>'];
  expect(await embedded(texts, ['[SEP]', '</s>'])).toEqual(broken);
});

test('a document that is cut for a ranking is well-formed', async () => {
  expect(await embedded(['abc🌧', 'abc🌧'], [], { maxTokens: 1 })).toEqual(['abc🌧', 'abc\uFFFD']);
});
