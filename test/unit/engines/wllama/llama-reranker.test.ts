import { expect, test } from 'vitest';

import { llamaReranker } from '../../../../src/engines/wllama/llama-reranker.ts';
import { RequestRejectedError } from '../../../../src/llama/internals/server-calls.ts';
import { lastOf } from '../../../support/last-of.ts';
import { rerankJob } from '../../../support/rerank-job.ts';
import { never } from '../../../support/never.ts';

const CONTEXT = 40;

/** A token a character; a score is the document's length. */
function make() {
  const pairs: [string, string][] = [];
  const llama = {
    async rank(query: string, document: string) {
      const tokens = query.length + document.length;
      if (tokens > CONTEXT) throw new RequestRejectedError('too large', tokens);
      pairs.push([query, document]);
      return { score: document.length, tokens };
    },
    close: () => Promise.resolve(),
  };
  const options = { fingerprint: 'fake', contextLength: CONTEXT, reserved: ['[SEP]'] };
  return { pairs, reranker: llamaReranker(llama, options) };
}

test('each pair has its score; a document that is too long is cut, and no other one', async () => {
  const { reranker, pairs } = make();
  const documents = ['rain [SEP] snow', 'x'.repeat(500), 'y'.repeat(35)];
  const { scores, promptTokens } = await lastOf(reranker.run(rerankJob('[SEP]?', documents), never));
  expect(pairs.map(([query]) => query)).toEqual(['[ SEP]?', '[ SEP]?', '[ SEP]?']);
  expect(pairs.map(([, document]) => document[0])).toEqual(['r', 'x', 'y']);
  expect(pairs[0]?.[1]).toBe('rain [ SEP] snow');
  expect(scores[0]).toBe(16);
  expect(scores[1]).toBeGreaterThan(20);
  expect(scores[2]).toBeGreaterThan(30);
  expect(promptTokens).toBe(pairs.flat().join('').length);
});

test('a place of the prompt in a text is text', async () => {
  const { reranker, pairs } = make();
  await lastOf(reranker.run(rerankJob('{document}?', ['{query}']), never));
  expect(pairs).toEqual([['{ document}?', '{ query}']]);
});

test('`max_tokens_per_doc` cuts each document by itself', async () => {
  const { reranker } = make();
  const { scores } = await lastOf(
    reranker.run(rerankJob('q', ['x'.repeat(30), 'abc'], { maxTokens: 5 }), never),
  );
  expect(scores).toEqual([20, 3]);
});

test('`max_tokens_per_doc` splits no character', async () => {
  const { reranker, pairs } = make();
  await lastOf(reranker.run(rerankJob('q', [`abc${'🌧'.repeat(9)}`], { maxTokens: 1 }), never));
  expect(pairs[0]?.[1]).toBe('abc\uFFFD');
});

test('a query that leaves no room is refused by name', async () => {
  const { reranker } = make();
  const refused = lastOf(
    reranker.run(rerankJob('q'.repeat(CONTEXT * 33), ['abc']), never, expect.unreachable),
  );
  await expect(refused).rejects.toMatchObject({ wire: { code: 'context_length_exceeded', param: 'query' } });
});

test('of 1,000 documents and a request after them, the request waits for few parts', async () => {
  const { reranker, pairs } = make();
  const long = lastOf(
    reranker.run(
      rerankJob(
        'long',
        Array.from({ length: 1000 }, () => 'document'),
      ),
      never,
    ),
  );
  while (pairs.length < 10) await Promise.resolve();
  await lastOf(reranker.run(rerankJob('short', ['one', 'two']), never));
  expect(pairs.length).toBeLessThan(30);
  const { scores } = await long;
  expect(scores).toHaveLength(1000);
});
