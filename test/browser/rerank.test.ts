import { expect, test } from 'vitest';

import { send } from '../support/send.ts';
import { sharedPage } from '../support/shared-page.ts';

/** Reranking by the real embedding model, as clients of Cohere, Jina, vLLM and llama.cpp ask for it. */

const tab = sharedPage();

interface Ranking {
  results: { index: number; relevance_score: number; document?: { text: string } }[];
  usage: { total_tokens: number };
}

const rerank = (body: object) => send(tab.page, tab.key, '/v1/rerank', { model: 'jade-mole-4', ...body });

const PASSAGES = [
  'The recipe needs four eggs, a cup of sugar and some butter.',
  'Service workers intercept network requests of the pages that they control.',
  'The museum opens at nine on weekdays and at ten on Sundays.',
  'Owls hunt at night; their feathers make their flight silent.',
  'WebAssembly runs compiled code in the browser at near native speed.',
];

test.each([
  ['When can I visit the museum?', 2],
  ['How do I bake a cake?', 0],
  ['Which bird flies without a sound?', 3],
  ['fast code inside a web page', 4],
])('%s', async (query, best) => {
  const { status, body } = await rerank({ query, documents: PASSAGES, top_n: 2, return_documents: true });
  expect(status).toBe(200);
  const { results, usage } = body as Ranking;
  expect(results).toHaveLength(2);
  expect(results[0]).toMatchObject({ index: best, document: { text: PASSAGES[best] } });
  expect(results[0]?.relevance_score).toBeGreaterThan(results[1]?.relevance_score ?? 1);
  expect(usage.total_tokens).toBeGreaterThan(50);
});
