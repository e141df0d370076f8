import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { bertReranker, qwenReranker } from '../support/reranker-gguf.ts';
import { sharedPage } from '../support/shared-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { send } from '../support/send.ts';
import { addGguf } from '../support/add-gguf.ts';

/** Rerankers in GGUF beside native llama.cpp, on the same files with random weights. */

const SMOLLM2 = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const QUERY = 'When can I visit the museum?';
const DOCUMENTS = [
  'The museum opens at nine on weekdays and at ten on Sundays.',
  'Owls hunt at night; their feathers make their flight silent.',
  'ja',
  'Der Zug fährt um neun Uhr ab, und 今日は天気がいいですね。',
  'The sea is wide, and a small boat goes far. '.repeat(12),
];

const tab = sharedPage();
const post = (path: string, body: object) => send(tab.page, tab.key, path, body);

interface Ranking {
  results: { index: number; relevance_score: number }[];
  usage: { total_tokens: number };
}

test.each([
  ['bert', () => bertReranker()],
  ['qwen3', () => qwenReranker(SMOLLM2)],
])('a reranker of the shape of %s has the scores of native llama.cpp', async (architecture, make) => {
  const file = join(await tempFolder('rerank-gguf'), `${architecture}-reranker.gguf`);
  await writeFile(file, await make());
  const { id, ...details } = await addGguf(tab.page, file);
  expect(details).toMatchObject({ architecture, reranks: true, canChat: false, problem: null });
  const { status, body } = await post('/v1/rerank', { model: id, query: QUERY, documents: DOCUMENTS });
  expect(status, JSON.stringify(body)).toBe(200);
  const { results, usage } = body as Ranking;
  const scores = results.map(({ relevance_score: score }) => score);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  expect(new Set(scores).size).toBe(DOCUMENTS.length);
  expect(usage.total_tokens).toBeGreaterThan(100);

  const server = await LlamaServer.start(file, 'key', [], { pooling: 'RANK' });
  const native = await server.rank(QUERY, DOCUMENTS);
  const spread = Math.max(...native) - Math.min(...native);
  for (const { index, relevance_score: score } of results)
    expect(Math.abs(score - (native[index] ?? NaN)) / spread, DOCUMENTS[index]).toBeLessThan(0.002);

  // A place of the model's prompt in a query is not filled with the document.
  const places = { model: id, query: '{document}'.repeat(20), documents: ['An owl. '.repeat(20)] };
  const { usage: ofPlaces } = (await post('/v1/rerank', places)).body as Ranking;
  expect(ofPlaces.total_tokens).toBeLessThan(300);

  // Longer than the context: the document is cut.
  const long = { model: id, query: QUERY, documents: ['An owl. '.repeat(2000), 'museum'] };
  expect(await post('/v1/rerank', long)).toMatchObject({ status: 200 });
  const tooLong = { model: id, query: 'Why? '.repeat(4000), documents: ['a'] };
  expect(await post('/v1/rerank', tooLong)).toMatchObject({
    status: 400,
    body: { error: { param: 'query' } },
  });
  // For nothing else.
  expect(await post('/v1/embeddings', { model: id, input: 'a' })).toMatchObject({ status: 404 });
});
