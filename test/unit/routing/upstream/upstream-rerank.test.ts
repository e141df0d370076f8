import { expect, test, vi } from 'vitest';

import type { RerankJob } from '../../../../src/jobs/rerank.ts';
import { runOnServer } from '../../../../src/routing/upstream/upstream-jobs.ts';
import { UpstreamServer } from '../../../../src/routing/upstream/upstream-server.ts';
import { lastOf } from '../../../support/last-of.ts';
import { serverVariant } from '../../../support/catalogs.ts';

const job: RerankJob = {
  kind: 'rerank',
  model: 'm',
  query: 'owls',
  documents: ['a train', 'an owl'],
  maxTokens: 1,
};

/** Asks a server that answers so. @returns what it was sent, and the last event */
async function rank(answer: unknown, more: { dimensions?: number } = {}) {
  const variant = serverVariant('s', 'https://site.example', { contextLength: 512, ...more });
  const server = new UpstreamServer(variant, undefined, () => {});
  const post = vi.spyOn(server, 'post').mockResolvedValue(Response.json(answer));
  const event = await lastOf(runOnServer(server, job, new AbortController().signal));
  return { sent: post.mock.calls[0]?.slice(0, 2), event };
}

test('a reranker of a server gets the whole request; its scores come back in the order of the documents', async () => {
  const { sent, event } = await rank({
    results: [
      { index: 1, relevance_score: 0.9, document: { text: 'an owl' } },
      { index: 0, relevance_score: -2 },
    ],
    usage: { prompt_tokens: 9 },
  });
  expect(sent).toMatchObject([
    '/rerank',
    { model: 'theirs', query: 'owls', documents: ['a train', 'an owl'], top_n: 2, max_tokens_per_doc: 1 },
  ]);
  expect(event).toMatchObject({ type: 'done', scores: [-2, 0.9], promptTokens: 9 });
});

test.each([
  ['too few', [{ index: 1, relevance_score: 0.9 }]],
  ['two for one document', [1, 1].map((index) => ({ index, relevance_score: 0.9 }))],
  ['one for no document', [0, 2].map((index) => ({ index, relevance_score: 0.9 }))],
  ['no numbers', [0, 1].map((index) => ({ index, relevance_score: 'high' }))],
])('%s: the answer is refused', async (_, results) => {
  await expect(rank({ results })).rejects.toMatchObject({ code: 'upstream_failed' });
});

test('an embedding model of a server ranks by its vectors, of documents that are cut', async () => {
  const vectors = [
    [0, 2],
    [1, 0],
    [1, 1],
  ];
  const { sent, event } = await rank(
    { data: vectors.map((embedding, index) => ({ index, embedding })) },
    { dimensions: 2 },
  );
  expect(sent).toMatchObject(['/embeddings', { input: ['owls', 'a tr', 'an o'] }]);
  expect(event).toMatchObject({ scores: [0, expect.closeTo(Math.SQRT1_2, 5)] });
});
