import { expect, test } from 'vitest';

import { llamaEmbedder } from '../../../src/engines/wllama/llama-embedder.ts';
import { type Embedder, transformersEngine } from '../../../src/engines/transformers/transformers-engine.ts';
import type { EmbeddingJob } from '../../../src/jobs/embedding.ts';
import { delay } from '../../../src/base/async.ts';
import { lastOf } from '../../support/last-of.ts';
import { virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const { signal } = new AbortController();
const job = (...texts: string[]): EmbeddingJob => ({ kind: 'embedding', model: 'm', input: { texts } });

/** Engines that compute a text at a time, and what they have computed. */
const ENGINES = {
  llama(computed: string[]) {
    const llama = {
      async embed(text: string) {
        computed.push(text);
        await delay(1);
        return { data: [{ embedding: [1, 0] }], usage: { prompt_tokens: 1 } };
      },
      close: () => Promise.resolve(),
    };
    return llamaEmbedder(llama, { fingerprint: 'fake', dimensions: 2, contextLength: 400, reserved: [] });
  },
  transformers: (computed: string[]) => transformers(computed, 1),
  /** Two of the long texts fit into a batch. */
  'transformers, in pairs': (computed: string[]) => transformers(computed),
};

function transformers(computed: string[], maxBatchSize?: number) {
  const embedder: Embedder = {
    tokenizer: {
      tokenize: async (texts) => texts.map((text) => [...text].map((each) => each.charCodeAt(0))),
      wrap: () => null,
    },
    async run(batch) {
      await delay(1);
      return batch.map((ids) => {
        computed.push(String.fromCharCode(...ids));
        return Float32Array.of(1, 0);
      });
    },
    dispose: () => undefined,
  };
  const facts = { contextLength: 400, dimensions: 2, ...(maxBatchSize && { maxBatchSize }) };
  return transformersEngine(embedder, facts, 'fake');
}

test.for(
  (['llama', 'transformers', 'transformers, in pairs'] as const).flatMap((engine) => [
    { engine, others: 'long', texts: ['a', 'b', 'c', 'd'].map((each) => each.repeat(200)) },
    { engine, others: 'short', texts: ['a'.repeat(200)] },
  ]),
)('$engine: a new request waits for few of 200 $others ones, and all end', async ({ engine, texts }) => {
  const computed: string[] = [];
  const embedder = ENGINES[engine](computed);
  const others = Array.from({ length: 200 }, () => lastOf(embedder.run(job(...texts), signal)));
  await delay(5);
  const before = computed.length;
  const { vectors } = await lastOf(embedder.run(job('new'), signal));
  expect(vectors).toHaveLength(1);
  expect(computed.length - before).toBeLessThan(8);
  await lastOf(embedder.run({ ...job('x', 'y', 'z'), client: 'another' }, signal));
  expect(computed.length - before).toBeLessThan(20);
  for (const { vectors: all } of await Promise.all(others)) expect(all).toHaveLength(texts.length);
  expect(computed.filter((text) => text.startsWith('a'))).toHaveLength(200);
});

test('an aborted request of the GGUF model gives its turn to the next', async () => {
  const computed: string[] = [];
  const embedder = ENGINES.llama(computed);
  const abort = new AbortController();
  const first = lastOf(embedder.run(job('a', 'b'), signal));
  const gone = lastOf(embedder.run(job('c', 'd'), abort.signal));
  abort.abort(new Error('gone'));
  await expect(gone).rejects.toThrow('gone');
  expect((await first).vectors).toHaveLength(2);
  expect((await lastOf(embedder.run(job('f'), signal))).vectors).toHaveLength(1);
  expect(computed).not.toContain('c');
});
